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

  function addPiece(piece: unknown, position: number): void {
    if (!isJsonObject(piece)) return;
    const { name, arguments: fragments } = getFields(piece['function']);
    const id = getText(piece['id']);
    // Some providers omit the index. The position is used instead.
    const index = piece['index'] ?? position;
    const known = byIndex.get(index);
    // Some providers send index 0 for every call. A new id with a name starts another call.
    const isNewCall = known?.id !== undefined && id !== undefined && id !== known.id && getText(name) !== undefined;
    const call = known === undefined || isNewCall ? begin(index) : known;
    call.id ??= id;
    call.name ??= getText(name);
    call.fields = mergeFields(call.fields, selectCallFields(piece));
    if (typeof fragments === 'string') call.fragments.push(fragments);
    else if (isJsonObject(fragments)) call.fragments.push(JSON.stringify(fragments));
  }

  return {
    add: (calls) => calls.forEach(addPiece),
    build: () =>
      all.map(({ id, name, fragments, fields }) => {
        if (name === undefined) throw new ProtocolError('requested a tool call without a name');
        return { callId: id ?? `call_${randomUUID()}`, name, text: fragments.join(''), ...(fields === undefined ? {} : { fields }) };
      }),
  };
}
