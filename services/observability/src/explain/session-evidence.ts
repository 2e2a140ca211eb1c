import type { ErrorCode, Result, ToolEvidence } from '@switchyard/contracts';
import type { RecordDocument } from '../documents/collections.ts';

type Report = Result<'obs.explain'>;
export type Failure = Report['failures'][number];
export type BreakerEvent = Report['breakerTimeline'][number];
export type Offload = Report['offloads'][number];
export type ToolStats = Report['toolStats'];

/** Reason of a call that the circuit breaker of its tool refused. */
export const TOOL_BLOCKED = 'TOOL_BLOCKED';

/** What the turns of a session have recorded about their tools, oldest first. */
export interface ToolHistory {
  /** Number of steps and tool calls. */
  records: number;
  failures: (Failure & { reason: string | undefined; traceId: string | undefined })[];
  breaker: (BreakerEvent & { traceId: string | undefined })[];
  offloads: (Offload & { traceId: string | undefined })[];
  stats: ToolStats;
}

/** Numbers the steps and calls of all turns and collects what went wrong. */
export function readToolHistory(records: readonly RecordDocument[]): ToolHistory {
  const history: ToolHistory = { records: 0, failures: [], breaker: [], offloads: [], stats: {} };
  const counts = new Map<string, ToolCounts>();
  for (const record of records) {
    const open = new Map<string, number>();
    for (const step of record.evidence?.steps ?? []) {
      history.records += 1;
      for (const tool of step.tools ?? []) {
        history.records += 1;
        readTool(history, counts, { tool, open, traceId: record.traceId });
      }
    }
  }
  history.stats = Object.fromEntries(Array.from(counts, ([name, count]) => [name, toStats(count)]));
  return history;
}

interface ToolCounts {
  ok: number;
  failed: number;
  kinds: Map<string, number>;
}

interface ToolCall {
  tool: ToolEvidence;
  /** Consecutive failures by tool within the turn. */
  open: Map<string, number>;
  traceId: string | undefined;
}

function readTool(history: ToolHistory, counts: Map<string, ToolCounts>, { tool, open, traceId }: ToolCall): void {
  const { name, failed, stored, storedChars = 0 } = tool;
  const seq = history.records;
  const count = counts.get(name) ?? { ok: 0, failed: 0, kinds: new Map<string, number>() };
  counts.set(name, count);
  if (stored !== undefined) history.offloads.push({ seq, toolName: name, originalChars: storedChars, pointer: stored, traceId });
  if (failed !== true) {
    count.ok += failed === false ? 1 : 0;
    if (failed === false) open.delete(name);
    return;
  }
  const failure = toFailure(tool, seq);
  count.failed += 1;
  count.kinds.set(failure.errorKind, (count.kinds.get(failure.errorKind) ?? 0) + 1);
  history.failures.push({ ...failure, reason: tool.reason, traceId });
  const before = open.get(name) ?? 0;
  if (tool.reason !== TOOL_BLOCKED) open.set(name, before + 1);
  else if (!history.breaker.some((event) => event.traceId === traceId && event.toolName === name))
    history.breaker.push({ seq, event: 'opened', toolName: name, consecutiveFailures: before, traceId });
}

const KINDS: Partial<Record<ErrorCode, string>> = {
  DEADLINE_EXCEEDED: 'timeout',
  UNAVAILABLE: 'network',
  PERMISSION_DENIED: 'auth',
  UNAUTHENTICATED: 'auth',
  INVALID_ARGUMENT: 'validation',
  OUT_OF_RANGE: 'validation',
  NOT_FOUND: 'precondition',
  FAILED_PRECONDITION: 'precondition',
  RESOURCE_EXHAUSTED: 'resource',
};

/** Error kinds of a report. A failure that the tool itself reported is one of a dependency. */
export function toErrorKind(code: string | undefined): string {
  return code === undefined ? 'dependency' : (KINDS[code as ErrorCode] ?? 'internal');
}

const NO_DIGEST = '0'.repeat(12);

/** Describes a failed call without its output, which is untrusted. */
function toFailure({ name, error, reason, result = NO_DIGEST, chars = 0 }: ToolEvidence, seq: number): Failure {
  const label = [error, reason].filter((word) => word !== undefined).join(' ');
  return {
    seq,
    toolName: name,
    classifiedFailureBy: error === undefined ? 'tool result' : 'error code',
    transportOk: error === undefined,
    errorKind: toErrorKind(error),
    resultDigest: result,
    resultBytes: chars,
    errorPreview: `${label === '' ? 'reported by the tool' : label} [output withheld, digest ${result}]`,
  };
}

function toStats({ ok, failed, kinds }: ToolCounts): ToolStats[string] {
  const [top] = [...kinds].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return { ok, failed, ...(top === undefined ? {} : { topErrorKind: top[0] }) };
}
