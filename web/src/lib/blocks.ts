// What stands in a document.
import type { Block } from './types'

/** The charts of a document, in the order in which the server numbers them. */
export function chartsIn(blocks: Block[]): Block[] {
  return blocks.flatMap((block) => (block.type === 'chart' ? [block] : block.type === 'details' ? chartsIn(block.blocks) : []))
}
