import { callables } from '@switchyard/contracts';
import type { Use } from '../history.ts';
import { mayBeEmptied, type RequestParams, type Known, type Violation } from './known.ts';

/**
 * I6: a tool that must not be repeated is executed once, whichever replica ran its turn. A repeatable tool is repeated with its
 * original key. The workload gives every call a unique name or input.
 */
export function toolsOnce(known: Known): Violation[] {
  const used = [...known.requests.values()].flatMap((request) =>
    (request.attempts[0]?.request.uses ?? []).flatMap((use) => wrongUse(known, request, use)),
  );
  return [...calledTwice(known), ...used].map((description) => ({ invariant: 'I6', what: description }));
}

/** Executions recorded by the processes that received the results of their calls. */
function calledTwice({ notes }: Known): string[] {
  const calls = notes.filter(({ what, id }) => what === 'call' && !mayBeRepeated(id));
  return [...Map.groupBy(calls, ({ id, key, input }) => `${id} ${key ?? JSON.stringify(input)}`)]
    .filter(([, createdItems]) => createdItems.length > 1)
    .map(([call, made]) => `${call} was called ${made.length} times, by ${made.map(({ replica }) => replica).join(', ')}`);
}

/** Executions recorded by the tool itself. */
function wrongUse(known: Known, { attempts, session, from }: RequestParams, { tool, name }: Use): string[] {
  const matches: string[] = [];
  const turns = Map.groupBy(known.executions.get(name)?.map(({ key }) => key) ?? [], (key) => key.slice(0, key.indexOf('/')));
  for (const [turnId, keys] of turns) {
    if (new Set(keys).size > 1) matches.push(`${tool} ${name} was used by ${turnId} under ${[...new Set(keys)].join(' and ')}`);
    if (keys.length > 1 && !mayBeRepeated(tool.replace('_', '.')))
      matches.push(`${tool} ${name} was used ${keys.length} times by ${turnId}`);
  }
  const keyed = attempts[0]?.request.key !== undefined;
  if (keyed && turns.size > 1 && !mayBeEmptied(known, session, from))
    matches.push(`${tool} ${name} was used by ${[...turns.keys()].join(' and ')}`);
  return matches;
}

function mayBeRepeated(name: string): boolean {
  return callables.get(name)?.idempotent === true;
}
