// One script and one style under fixed names: they are built into the program, which tells builds apart by their content.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: 'app.js', assetFileNames: 'app.[ext]', inlineDynamicImports: true },
    },
  },
  // While the front end is worked on: `pathmeter ui` answers beside it.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:5280', headers: { origin: 'http://127.0.0.1:5280' } } } },
})
