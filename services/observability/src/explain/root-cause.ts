import type { Result } from '@switchyard/contracts';
import type { RecordDocument } from '../documents/collections.ts';
import type { Outcome } from './turn-outcome.ts';
import type { ToolHistory } from './session-evidence.ts';

type RootCause = NonNullable<Result<'obs.explain'>['likelyRootCause']>;

/** The turn that is explained, and the tool calls of that turn. */
export interface Incident {
  record: RecordDocument;
  outcome: Outcome;
  tools: ToolHistory;
}

interface Rule {
  code: string;
  /** Returns the detail if the rule applies. */
  match: (incident: Incident) => string | undefined;
  steps: (incident: Incident) => string[];
}

/** Failures of one tool for one reason that count as repeated. */
const REPEATED_FAILURES = 5;
/** Offloaded results, and characters of the largest one, that bloat a context. */
const BLOATING_OFFLOADS = 3;
const BLOATING_CHARS = 100_000;

const PROVIDER_DOWN: ReadonlySet<string> = new Set([
  'PROVIDER_UNREACHABLE',
  'PROVIDER_UNAVAILABLE',
  'STREAM_CUT',
  'BAD_RESPONSE',
  'CIRCUIT_OPEN',
]);
const RATE_LIMITED: ReadonlySet<string> = new Set(['PROVIDER_RATE_LIMITED', 'PROVIDER_QUOTA']);
const RUNNER_LOST: ReadonlySet<string> = new Set(['POISON', 'INTERRUPTED', 'OVERTAKEN']);
const DENIED: ReadonlySet<string> = new Set(['APPROVAL_DENIED', 'APPROVAL_EXPIRED', 'APPROVAL_RULE', 'APPROVAL_PENDING']);

const getReason = ({ record }: Incident): string => record.failureReason ?? '';
const getModel = ({ record }: Incident): string => record.model ?? 'the model';

/**
 * The rules in their order; the first match is the root cause. `content_heuristic_misclassification`
 * cannot occur, because no failure is classified by a text, and `exec_dependency` needs a tool that executes commands.
 */
const RULES: readonly Rule[] = [
  {
    code: 'breaker_opened_repeated_failure',
    match: ({ tools }) => {
      const [opened] = tools.breaker;
      if (opened) return `The circuit breaker of ${opened.toolName} opened after ${opened.consecutiveFailures} failures.`;
      const repeated = findRepeated(tools);
      return repeated && `${repeated.toolName} failed ${repeated.count} times with the same error.`;
    },
    steps: ({ tools }) => [
      `Read the arguments of ${tools.failures.at(-1)?.toolName ?? 'the tool'} in the session; the same call keeps failing.`,
      'Correct the instructions of the agent, or deny the tool in agents.<id>.skills.toolPolicy.',
    ],
  },
  {
    code: 'tool_schema_unsupported',
    match: (incident) => (incident.record.rejected === 'tool_schema' ? `${getModel(incident)} rejected the schema of a tool.` : undefined),
    steps: () => ['Deny the tool in agents.<id>.skills.toolPolicy, or choose a model that supports its schema.'],
  },
  {
    code: 'context_bloat',
    match: ({ tools: { offloads } }) => {
      const largest = Math.max(0, ...offloads.map(({ originalChars }) => originalChars));
      if (offloads.length < BLOATING_OFFLOADS || largest < BLOATING_CHARS) return undefined;
      return `${offloads.length} tool results were too long for the prompt; the longest has ${largest} characters.`;
    },
    steps: () => ['Narrow the calls of the tool, or lower agents.<id>.maxToolResultChars.'],
  },
  {
    code: 'provider_down',
    match: (incident) => {
      if (PROVIDER_DOWN.has(getReason(incident))) return `The provider of ${getModel(incident)} failed: ${getReason(incident)}.`;
      return incident.outcome.endReason === 'circuit_open' ? `The circuit breakers of all allowed models were open.` : undefined;
    },
    steps: () => ['Check the status page of the provider.', 'Configure fallback models in agents.<id>.modelFailover.fallbackModels.'],
  },
  {
    code: 'provider_auth',
    match: (incident) => (getReason(incident) === 'PROVIDER_AUTH' ? `The provider of ${getModel(incident)} refused the key.` : undefined),
    steps: () => ['Set a valid key with env.set, then run models.test.'],
  },
  {
    code: 'provider_rate_limited',
    match: (incident) =>
      RATE_LIMITED.has(getReason(incident)) ? `The provider of ${getModel(incident)} limited requests: ${getReason(incident)}.` : undefined,
    steps: () => ['Raise the limit at the provider, lower agents.<id>.concurrency, or configure fallback models.'],
  },
  {
    code: 'provider_timeout',
    match: ({ tools }) => {
      const timedOut = tools.failures.filter(({ errorKind }) => errorKind === 'timeout');
      return timedOut.length === 0 ? undefined : `${timedOut[0]?.toolName} timed out ${timedOut.length} times.`;
    },
    steps: () => ['Find out why the tool is slow, or raise its time limit.'],
  },
  {
    code: 'context_exhausted',
    match: ({ outcome, record }) => {
      if (outcome.endReason !== 'context_exhausted') return undefined;
      const window = record.evidence?.window;
      return window === undefined
        ? 'The prompt exceeded the context window.'
        : `The prompt has about ${window.used} tokens, ${window.system} of them system prompt; the window has ${window.tokens}, of which ${window.reserved} stay free for the answer.`;
    },
    steps: () => ['Compact the session, or raise contextEngine.budget of the agent or choose a model with a larger window.'],
  },
  {
    code: 'output_starved',
    match: (incident) =>
      incident.outcome.endReason === 'output_starved'
        ? `${getModel(incident)} reached its output limit before the answer was complete.`
        : undefined,
    steps: () => ['Raise agents.<id>.maxTokens, or enable agents.<id>.outputEscalation.'],
  },
  {
    code: 'prompt_timeout',
    match: (incident) => {
      if (incident.outcome.endReason !== 'timeout') return undefined;
      return getReason(incident) === 'MODEL_STALLED'
        ? `${getModel(incident)} stalled: it sent no data within the prompt timeout.`
        : 'The turn reached its makespan, the longest duration of a turn.';
    },
    steps: () => [
      'Adjust agents.<id>.promptTimeout.{promptTimeoutMs, retryPromptTimeoutMs, stallCeilingMultiplier}.',
      'Read the waterfall for the step that took longest.',
    ],
  },
  {
    code: 'budget_exceeded',
    match: ({ outcome }) => (outcome.endReason === 'budget_exceeded' ? 'A budget of tokens or cost ended the turn.' : undefined),
    steps: () => ['Compare obs.billing.byAgent with agents.<id>.budgets and raise the limit that was reached.'],
  },
  {
    code: 'approval_denied',
    match: ({ tools }) => {
      const denied = tools.failures.find(({ reason }) => reason !== undefined && DENIED.has(reason));
      return denied && `A call of ${denied.toolName} was not approved: ${denied.reason}.`;
    },
    steps: () => ['Approve the call in time with admin.approval.resolve, or change the rules of approvals.'],
  },
  {
    code: 'runner_lost',
    match: (incident) => {
      const { attempts } = incident.record;
      if (!RUNNER_LOST.has(getReason(incident)) && attempts < 2) return undefined;
      return `The process that ran the turn was lost; the turn had ${attempts} runs.`;
    },
    steps: () => ['Look for restarts and out-of-memory kills of sessions at this time in the log.'],
  },
  {
    code: 'recall_miss',
    match: ({ record, outcome }) =>
      outcome.degraded && record.evidence?.recalled?.count === 0 ? 'The memory search returned nothing for the message.' : undefined,
    steps: () => ['Search the memories of the agent with memory.search, and check agents.<id>.rag.'],
  },
  {
    code: 'completed_with_tool_errors',
    match: ({ tools }) => (tools.failures.length === 0 ? undefined : `${tools.failures.length} tool calls failed.`),
    steps: () => ['Read failures; the newest is first.'],
  },
  {
    code: 'outcome_unresolved',
    match: (incident) =>
      incident.outcome.degraded
        ? `The turn ended with ${getReason(incident) || incident.outcome.endReason}; no rule explains it.`
        : undefined,
    steps: ({ record }) => [`Search the log for ${record.traceId ?? record.recordId}.`],
  },
];

/** Returns the first rule that applies; null for a turn that ended well. */
export function findRootCause(incident: Incident): RootCause | null {
  for (const { code, match, steps } of RULES) {
    const detail = match(incident);
    if (detail !== undefined) return { code, detail, suggestedNextSteps: steps(incident) };
  }
  return null;
}

function findRepeated({ failures }: ToolHistory): { toolName: string; count: number } | undefined {
  const groups = Map.groupBy(failures, ({ toolName, resultDigest }) => JSON.stringify([toolName, resultDigest]));
  const largest = [...groups.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
  const [first] = largest;
  return first === undefined || largest.length < REPEATED_FAILURES ? undefined : { toolName: first.toolName, count: largest.length };
}
