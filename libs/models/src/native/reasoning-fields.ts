import type { ModelMessage, ToolCall } from '../model/model.ts';
import { getFields, isJsonObject, type JsonFields } from '../http/json-fields.ts';
import type { CallReasoning, Metadata, ReasoningBlock } from './reasoning-cache.ts';

const BLOCKS = 'reasoning_blocks';
const METADATA = 'provider_metadata';

/** Stores the reasoning of a step in the fields of its message. */
export function toMessageFields(blocks: readonly ReasoningBlock[]): JsonFields | undefined {
  return blocks.length === 0 ? undefined : { [BLOCKS]: blocks };
}

/** Stores the signature of a call in its fields. */
export function toCallFields(metadata: Metadata | undefined): JsonFields | undefined {
  return metadata === undefined ? undefined : { [METADATA]: metadata };
}

/** Reads the reasoning of a call from the fields of its message. Clients can send these fields, so values of other types are dropped. */
export function readReasoning(message: ModelMessage, call: ToolCall, provider: string): CallReasoning | undefined {
  if (message.role !== 'assistant' || message.providerFields?.provider !== provider) return undefined;
  const list = message.providerFields.fields[BLOCKS];
  const blocks = Array.isArray(list) ? list.flatMap(readBlock) : [];
  const metadata = readMetadata(call.providerFields?.[METADATA]);
  return blocks.length === 0 && metadata === undefined ? undefined : { blocks, metadata };
}

function readBlock(block: unknown): ReasoningBlock[] {
  const { text, metadata } = getFields(block);
  const read = readMetadata(metadata);
  return typeof text === 'string' && read !== undefined ? [{ text, metadata: read }] : [];
}

/** Reads the text values, which are the signatures. */
function readMetadata(value: unknown): Metadata | undefined {
  const entries = Object.entries(getFields(value)).flatMap(([wire, fields]) => (isJsonObject(fields) ? [[wire, selectTexts(fields)]] : []));
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Metadata);
}

function selectTexts(fields: JsonFields): JsonFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'));
}
