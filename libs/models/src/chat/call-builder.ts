import { randomUUID } from 'node:crypto';
import { MAX } from '@switchyard/contracts';
import type { WrittenCall } from '../model/adapter.ts';
import { isMembers, membersOf, textOf } from '../http/json-fields.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

/** Puts tool calls together that come in pieces, several at once. */
export interface CallBuilder {
  /** Takes the `tool_calls` of one delta or message. */
  add(calls: readonly unknown[]): void;
  /** Throws when one never said what it calls. */
  built(): WrittenCall[];
}

interface Building {
  id: string | undefined;
  name: string | undefined;
  /** Joined at the end: arguments may come a character at a time. */
  written: string[];
}

export function createCallBuilder(): CallBuilder {
  const all: Building[] = [];
  const byIndex = new Map<unknown, Building>();

  function begin(index: unknown): Building {
    if (all.length >= MAX.many) throw new NotTheProtocol(`called more than ${MAX.many} tools at once`);
    const call: Building = { id: undefined, name: undefined, written: [] };
    all.push(call);
    byIndex.set(index, call);
    return call;
  }

  function addPiece(piece: unknown, position: number): void {
    if (!isMembers(piece)) return;
    const { name, arguments: written } = membersOf(piece['function']);
    const id = textOf(piece['id']);
    // Without an index, which some leave out, a piece belongs to the call in its place.
    const index = piece['index'] ?? position;
    const known = byIndex.get(index);
    // Some count every call as the first; only its id says that it is another.
    const another = known?.id !== undefined && id !== undefined && id !== known.id && textOf(name) !== undefined;
    const call = known === undefined || another ? begin(index) : known;
    call.id ??= id;
    call.name ??= textOf(name);
    if (typeof written === 'string') call.written.push(written);
    else if (isMembers(written)) call.written.push(JSON.stringify(written));
  }

  return {
    add: (calls) => calls.forEach(addPiece),
    built: () =>
      all.map(({ id, name, written }) => {
        if (name === undefined) throw new NotTheProtocol('called a tool without a name');
        return { callId: id ?? `call_${randomUUID()}`, name, text: written.join('') };
      }),
  };
}
