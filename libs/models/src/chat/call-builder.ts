import { randomUUID } from 'node:crypto';
import { MAX } from '@switchyard/contracts';
import type { WrittenCall } from '../model/adapter.ts';
import { isJsonObject, getFields, getText, type JsonFields } from '../http/json-fields.ts';
import { mergeFields, selectCallFields } from './provider-fields.ts';
import { ProtocolError } from '../errors/protocol-error.ts';

/** Assembles tool calls from streamed fragments. */
export interface ToolCallBuilder {
  /** Adds the `tool_calls` of one delta or message. */
  add(calls: readonly unknown[]): void;
  /** Returns the calls. Throws if a call has no name. */
  build(): WrittenCall[];
}

interface PartialCall {
  id: string | undefined;
  name: string | undefined;
  /** Argument fragments, joined at the end. */
  fragments: string[];
  fields: JsonFields | undefined;
}

/** The fields of one fragment. Missing values are undefined. */
interface Fragment {
  index: unknown;
  id: string | undefined;
  name: string | undefined;
  text: string;
}

function readFragment(piece: JsonFields): Fragment {
  const { name, arguments: args } = getFields(piece['function']);
  const text = isJsonObject(args) ? JSON.stringify(args) : (getText(args) ?? '');
  return { index: piece['index'] ?? undefined, id: getText(piece['id']), name: getText(name), text };
}

/**
 * Whether a fragment starts another call, although its index or position is known. Some providers send index 0 for every call, or one id.
 * Without ids the name decides, or the arguments, which are complete before the next call starts.
 */
function isNewCall(known: PartialCall, { id, name, text }: Fragment): boolean {
  if (name === undefined || known.name === undefined) return false;
  if (id !== undefined && known.id !== undefined) return id !== known.id || name !== known.name;
  return name !== known.name || (text !== '' && isJson(known.fragments.join('')));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function createToolCallBuilder(): ToolCallBuilder {
  const all: PartialCall[] = [];
  const byIndex = new Map<unknown, PartialCall>();

  function begin(index: unknown): PartialCall {
    if (all.length >= MAX.many) throw new ProtocolError(`requested more than ${MAX.many} tool calls`);
    const call: PartialCall = { id: undefined, name: undefined, fragments: [], fields: undefined };
    all.push(call);
    byIndex.set(index, call);
    return call;
  }

  /** Finds the call that a fragment belongs to. Some providers omit the index: the id, the last call or the position is used instead. */
  function findCall(piece: Fragment, position: number, isOnly: boolean): PartialCall | undefined {
    if (piece.index !== undefined) return byIndex.get(piece.index);
    const sameId = piece.id === undefined ? undefined : all.find(({ id }) => id === piece.id);
    if (sameId !== undefined) return sameId;
    return piece.name === undefined && isOnly ? all.at(-1) : byIndex.get(position);
  }

  function addPiece(value: unknown, position: number, isOnly: boolean): void {
    if (!isJsonObject(value)) return;
    const piece = readFragment(value);
    const known = findCall(piece, position, isOnly);
    const call = known === undefined || isNewCall(known, piece) ? begin(piece.index ?? position) : known;
    call.id ??= piece.id;
    call.name ??= piece.name;
    call.fields = mergeFields(call.fields, selectCallFields(value));
    if (piece.text !== '') call.fragments.push(piece.text);
  }

  return {
    add: (calls) => calls.forEach((piece, position) => addPiece(piece, position, calls.length === 1)),
    build: () =>
      all.map(({ id, name, fragments, fields }, at) => {
        if (name === undefined) throw new ProtocolError('requested a tool call without a name');
        const isUnique = id !== undefined && all.find((call) => call.id === id) === all[at];
        return {
          callId: isUnique ? id : `call_${randomUUID()}`,
          name,
          text: fragments.join(''),
          ...(fields === undefined ? {} : { fields }),
        };
      }),
  };
}
