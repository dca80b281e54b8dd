// A text as a QR code (ISO/IEC 18004): bytes, level M, versions 1 to 10.

/** For each version from 1: check bytes of a block, and the data bytes of each block. */
const BLOCKS: [number, number[]][] = [
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
]

/** The rows of the code, true where a module is dark; nothing where the text is too long. */
export function qr(text: string): boolean[][] | undefined {
  const bytes = new TextEncoder().encode(text)
  const version = BLOCKS.findIndex(([, blocks], index) => sum(blocks) * 8 >= 4 + lengthBits(index + 1) + bytes.length * 8) + 1
  const layout = BLOCKS[version - 1]
  if (!layout) return undefined
  const grid = frame(version)
  place(grid, withChecks(dataOf(bytes, version, sum(layout[1])), layout))
  const masked = MASKS.map((mask, number) => finished(grid, mask, number))
  return masked.reduce((best, other) => (penalty(other) < penalty(best) ? other : best))
}

/** A module: its colour, and whether it is one of the fixed patterns, which no mask changes. */
interface Module {
  dark: boolean
  fixed: boolean
}

const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)
const lengthBits = (version: number) => (version < 10 ? 8 : 16)
const at = <T>(rows: T[][], row: number, column: number): T => (rows[row] as T[])[column] as T

/** Mode, length and bytes, filled up with the bytes that the standard has for this. */
function dataOf(bytes: Uint8Array, version: number, size: number): number[] {
  const bits = [...binary(4, 4), ...binary(bytes.length, lengthBits(version)), ...[...bytes].flatMap((byte) => binary(byte, 8))]
  bits.push(...binary(0, Math.min(4, size * 8 - bits.length)))
  while (bits.length % 8) bits.push(0)
  const data = Array.from({ length: bits.length / 8 }, (_, index) => parseInt(bits.slice(index * 8, index * 8 + 8).join(''), 2))
  for (let filler = 0xec; data.length < size; filler ^= 0xec ^ 0x11) data.push(filler)
  return data
}

const binary = (value: number, bits: number) => Array.from({ length: bits }, (_, index) => (value >> (bits - 1 - index)) & 1)

/** The blocks with their check bytes, byte by byte in turn. */
function withChecks(data: number[], [checks, sizes]: [number, number[]]): number[] {
  let first = 0
  const blocks = sizes.map((size) => data.slice(first, (first += size)))
  const checked = blocks.map((block) => remainder(block, checks))
  const inTurn = (rows: number[][]) =>
    Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, index) => rows.flatMap((row) => row.slice(index, index + 1))).flat()
  return [...inTurn(blocks), ...inTurn(checked)]
}

/** Product in the field of 256 elements with the polynomial 0x11d. */
function product(a: number, b: number): number {
  let result = 0
  for (let bit = 7; bit >= 0; bit--) result = ((result << 1) ^ ((result >> 7) * 0x11d)) ^ (((b >> bit) & 1) * a)
  return result
}

/** The check bytes of Reed and Solomon. */
function remainder(block: number[], checks: number): number[] {
  let generator = [1]
  for (let power = 1, index = 0; index < checks; index++, power = product(power, 2)) {
    const shifted = [...generator, 0]
    generator = shifted.map((value, place) => value ^ product(generator[place - 1] ?? 0, power))
  }
  const rest = [...block, ...Array<number>(checks).fill(0)]
  block.forEach((_, index) => {
    const factor = rest[index] ?? 0
    generator.forEach((value, place) => (rest[index + place] = (rest[index + place] ?? 0) ^ product(value, factor)))
  })
  return rest.slice(block.length)
}

/** The fixed patterns of a version, with room for the data. */
function frame(version: number): Module[][] {
  const size = version * 4 + 17
  const grid = Array.from({ length: size }, () => Array.from({ length: size }, () => ({ dark: false, fixed: false })))
  const set = (row: number, column: number, dark: boolean) => {
    if (row >= 0 && column >= 0 && row < size && column < size) Object.assign(at(grid, row, column), { dark, fixed: true })
  }
  const square = (row: number, column: number, radius: number, dark: (ring: number) => boolean) => {
    for (let y = -radius; y <= radius; y++) for (let x = -radius; x <= radius; x++) set(row + y, column + x, dark(Math.max(Math.abs(x), Math.abs(y))))
  }
  for (let index = 0; index < size; index++) {
    set(6, index, index % 2 === 0)
    set(index, 6, index % 2 === 0)
  }
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]] as const) square(row, column, 4, (ring) => ring !== 2 && ring !== 4)
  const last = size - 7
  const places = version === 1 ? [] : version < 7 ? [6, last] : [6, (6 + last) / 2, last]
  for (const row of places) {
    for (const column of places) {
      // Three corners have a finder.
      const isFinder = (row === 6 && (column === 6 || column === last)) || (row === last && column === 6)
      if (!isFinder) square(row, column, 2, (ring) => ring !== 1)
    }
  }
  format(grid, 0)
  if (version >= 7) {
    const code = (version << 12) | divided(version << 12, 0x1f25, 12)
    for (let bit = 0; bit < 18; bit++) {
      const [far, near] = [size - 11 + (bit % 3), Math.floor(bit / 3)]
      set(far, near, ((code >> bit) & 1) === 1)
      set(near, far, ((code >> bit) & 1) === 1)
    }
  }
  return grid
}

/** The remainder of a division of polynomials over two elements. */
function divided(value: number, by: number, bits: number): number {
  let rest = value
  while (rest >> bits) rest ^= by << (31 - Math.clz32(rest) - bits)
  return rest
}

/** Level M and the number of the mask, twice. */
function format(grid: Module[][], mask: number) {
  const size = grid.length
  const code = ((mask << 10) | divided(mask << 10, 0x537, 10)) ^ 0x5412
  const set = (row: number, column: number, bit: number) => Object.assign(at(grid, row, column), { dark: ((code >> bit) & 1) === 1, fixed: true })
  for (let bit = 0; bit < 15; bit++) {
    // Along the first finder, around its corner, and past the lines of the clock.
    if (bit < 8) set(bit < 6 ? bit : bit + 1, 8, bit)
    else set(8, bit === 8 ? 7 : 14 - bit, bit)
    if (bit < 8) set(8, size - 1 - bit, bit)
    else set(size - 15 + bit, 8, bit)
  }
  Object.assign(at(grid, size - 8, 8), { dark: true, fixed: true })
}

/** The bits in columns of two, upwards and downwards in turn, from the right. */
function place(grid: Module[][], data: number[]) {
  const bits = data.flatMap((byte) => binary(byte, 8))
  let next = 0
  for (let right = grid.length - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5
    for (let step = 0; step < grid.length; step++) {
      for (const column of [right, right - 1]) {
        const module = at(grid, up ? grid.length - 1 - step : step, column)
        if (!module.fixed) module.dark = bits[next++] === 1
      }
    }
  }
}

const MASKS: ((row: number, column: number) => boolean)[] = [
  (row, column) => (row + column) % 2 === 0,
  (row) => row % 2 === 0,
  (_, column) => column % 3 === 0,
  (row, column) => (row + column) % 3 === 0,
  (row, column) => (Math.floor(row / 2) + Math.floor(column / 3)) % 2 === 0,
  (row, column) => ((row * column) % 2) + ((row * column) % 3) === 0,
  (row, column) => (((row * column) % 2) + ((row * column) % 3)) % 2 === 0,
  (row, column) => (((row + column) % 2) + ((row * column) % 3)) % 2 === 0,
]

function finished(grid: Module[][], mask: (row: number, column: number) => boolean, number: number): boolean[][] {
  const copy = grid.map((modules, row) => modules.map(({ dark, fixed }, column) => ({ dark: !fixed && mask(row, column) ? !dark : dark, fixed })))
  format(copy, number)
  return copy.map((modules) => modules.map(({ dark }) => dark))
}

/** How hard a code is to read: long runs, blocks, what looks like a finder, and one colour that is more than the other. */
function penalty(rows: boolean[][]): number {
  const columns = rows.map((_, index) => rows.map((row) => row[index] ?? false))
  const lines = [...rows, ...columns].map((line) => line.map((dark) => (dark ? '1' : '0')).join(''))
  const runs = lines.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []).map((run) => run.length - 2)
  const finders = lines.map((line) => (line.match(/(?=10111010000|00001011101)/g) ?? []).length * 40)
  let blocks = 0
  for (let row = 1; row < rows.length; row++) {
    for (let column = 1; column < rows.length; column++) {
      const dark = at(rows, row, column)
      if (at(rows, row - 1, column) === dark && at(rows, row, column - 1) === dark && at(rows, row - 1, column - 1) === dark) blocks += 3
    }
  }
  const share = sum(rows.map((row) => row.filter(Boolean).length)) / rows.length ** 2
  return sum(runs) + sum(finders) + blocks + Math.floor(Math.abs(share * 100 - 50) / 5) * 10
}
