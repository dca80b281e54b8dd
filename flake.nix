{
  description = "pathmeter: how fast is this path really, where is the limit, and why?";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forAll = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      version = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
    in
    {
      packages = forAll (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "pathmeter";
          inherit version;
          src = pkgs.lib.cleanSource ./.;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "pathmeter" ];
          buildType = "dist";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The tests make network namespaces, which the build's sandbox forbids; CI runs them.
          doCheck = false;
          postInstall = ''
            $out/bin/pathmeter man man
            installManPage man/*.1
            installShellCompletion --cmd pathmeter \
              --bash <($out/bin/pathmeter completions bash) \
              --zsh <($out/bin/pathmeter completions zsh) \
              --fish <($out/bin/pathmeter completions fish)
            install -Dm644 packaging/pathmeter*.{service,socket,timer} -t $out/lib/systemd/system
            substituteInPlace $out/lib/systemd/system/*.service --replace-fail /usr/bin $out/bin
          '';
          meta = {
            description = "Measures network paths and says what limits them";
            homepage = "https://github.com/pathmeter/pathmeter";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "pathmeter";
            platforms = pkgs.lib.platforms.linux;
          };
        };
      });

      devShells = forAll (pkgs: {
        default = pkgs.mkShell {
          packages = with pkgs; [ rustup gcc iproute2 iperf3 iperf ethtool nftables python3 ];
        };
      });
    };
}
