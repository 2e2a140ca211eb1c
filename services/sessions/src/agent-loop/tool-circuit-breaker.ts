import type { AgentConfig } from '@switchyard/contracts';
import type { ToolResult } from '../tools/tool-result-truncation.ts';
import type { ToolBox } from '../tools/toolbox.ts';

type Limits = AgentConfig['toolRetryBreaker'];

/** Failure counters of a tool in one turn. */
interface FailureCounts {
  /** Consecutive failures with the same arguments. */
  same: { args: string; count: number };
  /** Consecutive failures with the same error, whatever the arguments. */
  pattern: { error: string; count: number };
  failures: number;
}

/**
 * Wraps the tools with a circuit breaker. A tool is blocked for the rest of the turn after too many failures of the same call, of the
 * tool, or with the same error. The model reads the reason and a suggestion.
 */
export function withBreaker(tools: ToolBox, limits: Limits): ToolBox {
  if (!limits.enabled) return tools;
  const failing = new Map<string, FailureCounts>();
  return {
    ...tools,
    get specs() {
      return tools.specs;
    },
    async use(call, using) {
      const args = JSON.stringify(call.input) ?? '';
      const blocked = getBlockReason(failing.get(call.name), args, limits);
      if (blocked) return refusal(call.name, blocked, limits);
      const outcome = await tools.use(call, using);
      const before = failing.get(call.name);
      if (outcome.failed) failing.set(call.name, addFailure(before, args, outcome));
      else if (before) failing.set(call.name, { ...before, same: { args: '', count: 0 }, pattern: { error: '', count: 0 } });
      return outcome;
    },
  };
}

function addFailure(before: FailureCounts | undefined, args: string, { result }: ToolResult): FailureCounts {
  const error = errorPattern(result);
  return {
    same: { args, count: before?.same.args === args ? before.same.count + 1 : 1 },
    pattern: { error, count: before?.pattern.error === error ? before.pattern.count + 1 : 1 },
    failures: (before?.failures ?? 0) + 1,
  };
}

/** Normalizes an error: numbers and quoted names are replaced. */
function errorPattern(result: unknown): string {
  return (JSON.stringify(result) ?? '').replaceAll(/\d+/g, '0').replaceAll(/\\"[^"\\]*\\"/g, '…');
}

function getBlockReason(existing: FailureCounts | undefined, args: string, limits: Limits): string | undefined {
  if (!existing) return undefined;
  if (existing.failures >= limits.maxToolFailures) return `it has failed ${existing.failures} times`;
  const { same, pattern } = existing;
  if (same.args === args && same.count >= limits.maxConsecutiveFailures) return `this call has failed ${same.count} times in a row`;
  if (same.args === args && pattern.count >= limits.maxConsecutiveErrorPatterns)
    return `it has failed ${pattern.count} times in a row for one reason`;
  return undefined;
}

function refusal(name: string, why: string, { suggestAlternatives }: Limits): ToolResult {
  const advice = suggestAlternatives ? ' Use another tool, ask for the missing information, or answer with the information you have.' : '';
  return {
    result: { error: `TOOL_BLOCKED: ${name} is blocked for the rest of this turn, because ${why}.${advice}` },
    failed: true,
    error: { code: 'UNAVAILABLE', reason: 'TOOL_BLOCKED' },
  };
}
