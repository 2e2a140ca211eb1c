/** The measurable subjects: the product in both profiles, and the baselines. */
export type SubjectName =
  | 'nats'
  | 'embedded'
  | 'bare'
  | 'node'
  | 'naive'
  | 'floor'
  | 'bare-ws'
  | 'floor-ws'
  | 'send-loop'
  | 'proxy'
  | 'floor-v1'
  | 'portkey'
  | 'openclaw'
  | 'upstream'
  | 'restate'
  | 'bare-store';
