// What the server sends; openapi.json describes it.

export type Status = 'ok' | 'degraded' | 'broken' | 'problem' | 'void'

export interface Figure {
  name: string
  value: number
  text: string
}

export interface Entry {
  id: string
  kind: string
  target: string
  label: string
  /** The user's note; empty: none. */
  note: string
  origin: 'measured' | 'imported'
  started: string
  finished: string | null
  /** A program measures it now. */
  running: boolean
  status: Status | null
  verdict: string | null
  figures: Figure[]
}

export interface Finding {
  id: string
  severity: 'info' | 'warning' | 'problem'
  direction: string | null
  title: string
  evidence: Record<string, unknown>
  advice: string
}

export interface Column {
  heading: string
  right: boolean
}

export type Block =
  | { type: 'heading' | 'paragraph' | 'preformatted'; text: string }
  | { type: 'facts'; facts: [string, string][] }
  | { type: 'list'; items: { line: string; finding?: Finding | null }[] }
  | { type: 'table'; title: string; columns: Column[]; rows: string[][]; notes: string[] }
  | { type: 'chart'; title: string; svg: string; is_single: boolean }
  | { type: 'findings'; findings: Finding[] }
  | { type: 'conclusion'; of: string; status: Status; answer: string; text: string }
  | { type: 'details'; title: string; blocks: Block[] }

export interface Expectation {
  of: string
  what: string
  expected: string
  found: string
  judgement: 'held' | 'broken' | 'not judged'
}

export interface Doc {
  title: string
  blocks: Block[]
  expectations: Expectation[]
}

export interface Line {
  name: string
  at: number[]
  values: (number | null)[]
  /** The place of its colour; absent: by its name. */
  tone?: number
  /** The two ends of what it spreads over. */
  band?: { low: (number | null)[]; high: (number | null)[] }
  /** Points alone. */
  loose?: boolean
}

/** Something that begins or happened at a time. */
export interface Mark {
  at: number
  name: string
  tone?: 'ok' | 'problem' | 'none'
}

export type Unit = 'bit/s' | 's' | '%' | ''

export interface Series {
  title: string
  figure: string
  unit: Unit
  lines: Line[]
  marks?: Mark[]
}

/** A test, as the API takes it. */
export interface TestFields {
  kind: string
  host: string
  label: string
  /** Named as in a plan file. */
  keys: Record<string, string | number | boolean>
  family?: number
}

export interface RunPage {
  entry: Entry
  status: Status | null
  document: Doc
  /** The fields of the form that measures the same; none where there is no such form. */
  again: TestFields | null
  series: Series[]
}

export interface Shift {
  percent: number
  low: number | null
  high: number | null
}

export interface Row {
  name: string
  base: { runs: number; median: number | null }
  other: { runs: number; median: number | null }
  shift: Shift | null
  q: number | null
  judgement: unknown
}

export interface Comparison {
  comparison: {
    base: { name: string; runs: number; void: number }
    other: { name: string; runs: number; void: number }
    figures: Row[]
    conclusion: string
  }
  document: Doc
}

export interface Point {
  id: string
  started: string
  value: number
  text: string
  status: Status | null
}

export interface PathRow {
  target: string
  runs: number
  latest: Entry
  verdicts: { id: string; started: string; status: Status | null }[]
  conclusion: string
  is_worse: boolean
  figures: { name: string; of: string; text: string; points: Point[]; change: Change | null; is_suspicious: boolean }[]
  schedules: Schedule[]
}

/** How often a path is measured. */
export interface Schedule {
  target: string
  kind: string
  label: string
  every_seconds: number
  latest: string
  overdue: boolean
  /** The host whose `watch` measures; null: the runs show how often they come. */
  host: string | null
  due: string | null
  runs: number | null
}

export interface Alerted {
  run: string
  target: string
  kind: string
  figure: string
  change: string
  at: string
  waiting: number
}

export interface FigureTrend {
  kind: string
  figure: string
  points: { run: string; at: string; value: number }[]
  changes: { at: string; run: string; before: number; after: number; percent: number | null; kind: string; with: string[] }[]
  is_worse: boolean
  is_suspicious: boolean
  of: number[]
  options: string[]
}

export interface Trace {
  run: string
  started: string
  hops: { ttl: number; far_end: boolean; routers: string[]; rtt_ns: number | null }[]
}

export interface PathPage {
  target: string
  runs: number
  latest: Entry
  conclusion: string
  is_worse: boolean
  marks: { at: string; note: string }[]
  figures: FigureTrend[]
  states: [string, string, Status | null][]
  /** The far end as the form takes it; null: no run of it can be measured again. */
  host: string | null
  limits: { run: string; started: string; direction: 'up' | 'down'; limit: Limit }[]
  hops: Trace[]
  schedules: Schedule[]
  alerts: Alerted[]
}

export interface Limit {
  kind: string
  rate_bps?: number
  packets_per_second?: number
  queue_ns?: number
  place?: { first: number; last: number }
  confidence: string
  cause?: string
  fix?: string
}

export interface Overlaid {
  entry: Entry
  series: Series[]
  distributions: { name: string; at: number[]; share: number[] }[]
}

export interface Known {
  targets: string[]
  labels: string[]
  kinds: string[]
  configured: string[]
}

/** A change of level that three runs confirmed. */
export interface Change {
  word: 'worse' | 'better' | 'recovered'
  is_worse: boolean
  at: string
  run: string
  before: string
  after: string
  percent: number | null
}

export interface End {
  node: string
  device: string
  mtu: number
  rate_bps: number | null
  delay_ns: number | null
  jitter_ns: number | null
  loss: number
  duplicate: number
  reorder: number
}

export interface Node {
  name: string
  place: 'namespace' | 'vm' | 'external' | 'remote'
  forwards: boolean
  addresses: { device: string; address: string; prefix: number }[]
}

export interface Topology {
  name: string
  title: string
  about: string
  from: string
  to: string
  device_under_test: string | null
  nodes: Node[]
  links: [End, End][]
  drawing: string
  expected: [string, string][]
}

export interface Session {
  version: string
  login_needed: boolean
  logged_in: boolean
  may_change: boolean
  may_embed: boolean
  csrf: string
}

export interface LivePoint {
  figure: string
  unit: Unit
  line: string
  at: number
  /** When its part of the run began. */
  begin: number
  value: number
  received: boolean
}

export interface Standing {
  server: string
  number: number
  running: boolean
  test?: { kind: string; host: string; label: string; id: string; elapsed_seconds: number; expected_seconds: number | null }
  next: number
  story: LiveMessage[]
}

export type LiveMessage =
  | { type: 'started'; kind: string; host: string; label: string }
  | { type: 'test'; title: string }
  | { type: 'progress'; progress: { part?: [number, number] | null; doing: string } }
  | { type: 'points'; points: LivePoint[] }
  | { type: 'mark'; at: number; name: string }
  | { type: 'idle' }
  | { type: 'warning'; text: string }
  | { type: 'ended'; id: string; error: string | null }
  | { type: 'failed'; why: { error: string; advice?: string } }

export interface MeshCell {
  from: string
  to: string
  state: 'done' | 'void' | 'failed' | 'missed'
  tone: Status | null
  figure: Figure | null
  reason: string | null
  run: string
  target: string
  started: string | null
}

export interface Matrix {
  test: string
  family: 4 | 6 | null
  figure: string | null
  higher_is_better: boolean
  agents: string[]
  cells: MeshCell[]
}

/** Runs of a mesh that were made together. */
export interface Round {
  started: string
  runs: number
  failed: number
}

export interface Mesh {
  label: string
  started: string | null
  finished: string | null
  /** The begin of the round that is shown; null: the latest run of each path. */
  round: string | null
  rounds: Round[]
  findings: { id: string; test: string; title: string }[]
  matrices: Matrix[]
}
