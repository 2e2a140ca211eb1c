import { setTimeout as sleep } from 'node:timers/promises';
import { MAX, ServiceError, describeIssues, validate } from '@switchyard/contracts';
import { z } from 'zod';
import { createTokens, type Behaviour } from './dev-model.ts';
import { networkError, statusError } from './simulated-errors.ts';

const MAX_ENTRIES = 1_000;
const MAX_WAIT_MS = 600_000;

const ScriptedError = z.strictObject({
  status: z.int().min(400).max(599).optional(),
  code: z.string().min(1).max(64).optional(),
  message: z.string().max(1_000).default('scripted failure'),
});

const Entry = z.union([
  z.strictObject({ text: z.string().max(MAX.text) }),
  z.strictObject({ tool: z.strictObject({ name: z.string().min(1).max(MAX.name), input: z.unknown().optional() }) }),
  z.strictObject({ wait: z.number().min(0).max(MAX_WAIT_MS) }),
  z.strictObject({ error: ScriptedError }),
]);
type Entry = z.output<typeof Entry>;
const Script = z.array(Entry).max(MAX_ENTRIES);

/** Plays the JSON script in the message. Adjacent tools are called in one step; the next step continues after them. */
export const scripted: Behaviour = async function* ({ message, results }, { signal }) {
  let called = false;
  for (const entry of skipAnsweredTools(parseScript(message), results.length)) {
    if (called && !('tool' in entry)) return;
    if ('text' in entry) yield* createTokens(entry.text);
    if ('wait' in entry) await sleep(entry.wait, undefined, { signal });
    if ('error' in entry) throw toError(entry.error);
    if ('tool' in entry) {
      called = true;
      const { name, input } = entry.tool;
      // Text is passed unchanged, so that a script can send invalid arguments.
      yield { call: { name, input: typeof input === 'string' ? input : JSON.stringify(input ?? {}) } };
    }
  }
};

/** Returns the script after the answered tool calls. */
function skipAnsweredTools(script: Entry[], answeredCount: number): Entry[] {
  let at = 0;
  for (let remaining = answeredCount; remaining > 0 && at < script.length; at += 1) {
    if ('tool' in (script[at] ?? {})) remaining -= 1;
  }
  return script.slice(at);
}

function toError({ status, code, message }: z.output<typeof ScriptedError>): Error {
  return status === undefined ? networkError(code ?? 'ECONNRESET', message) : statusError(status, message);
}

function parseScript(message: string): Entry[] {
  const parsed = validate(Script, readJson(message));
  if (parsed.success) return parsed.data;
  const issues = describeIssues(parsed.error);
  throw badScriptError(issues.map((issue) => issue.message).join('; '));
}

function readJson(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    throw badScriptError('the message is not JSON');
  }
}

function badScriptError(why: string): ServiceError {
  const form = '[{"text":"…"} | {"tool":{"name":"…","input":{}}} | {"wait":100} | {"error":{"status":503}}, …]';
  return new ServiceError('INVALID_ARGUMENT', `dev/scripted, the development model, plays a JSON array like ${form}: ${why}`, {
    details: { reason: 'BAD_SCRIPT' },
  });
}
