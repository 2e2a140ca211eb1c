import type { CallerToolCall } from '@switchyard/contracts';
import { isRecord } from '../openai-fields.ts';
import { parseJson } from '../tool-conversion.ts';
import { selectCallFields, selectMessageFields } from '../chat-completions/provider-fields.ts';

type Fields = Record<string, unknown>;

/** What the provider of a response expects back with its message and its calls. The client stores it in a reasoning item. */
export interface ProviderState {
  /** The model of the response. Other models do not receive the fields, because their providers refuse them. */
  model: string;
  /** Whether the response has a message before the reasoning item. */
  hasText: boolean;
  fields?: Fields | undefined;
  /** The fields of calls, by call id. */
  calls: Fields;
}

/** Marks `encrypted_content` of this format. Clients also send that of other services. */
const FORMAT = 'swy1.';
/** The fields with readable reasoning, in the order of preference. */
const READABLE_FIELDS = ['reasoning_content', 'reasoning'];

/** The parts of an outcome with fields of its provider. */
interface StatefulOutcome {
  text: string;
  calls?: readonly CallerToolCall[] | undefined;
  providerFields?: Fields | undefined;
}

/** Returns the state of a response; undefined if its provider sent no fields. */
export function getProviderState(
  { echo }: { echo: Readonly<Fields> },
  { text, calls = [], providerFields: fields }: StatefulOutcome,
): ProviderState | undefined {
  const withFields = calls.filter((call) => call.providerFields !== undefined);
  if (fields === undefined && withFields.length === 0) return undefined;
  const callFields = Object.fromEntries(withFields.map((call) => [call.callId, call.providerFields]));
  return { model: String(echo['model']), hasText: text !== '', fields, calls: callFields };
}

/** A reasoning item, and the text of its summary. */
export interface ReasoningItem {
  id: string;
  summary: string | undefined;
  item: object;
}

/** Creates the reasoning item that carries a state. Its summary is the reasoning of providers that show it. */
export function createReasoningItem(id: string, state: ProviderState): ReasoningItem {
  const readable = READABLE_FIELDS.map((name) => state.fields?.[name]).find((value) => typeof value === 'string');
  const summary = readable === undefined ? [] : [{ type: 'summary_text', text: readable }];
  const encrypted_content = `${FORMAT}${Buffer.from(JSON.stringify(state)).toString('base64url')}`;
  return { id, summary: readable, item: { type: 'reasoning', id, summary, encrypted_content } };
}

/** Reads the state of a reasoning item; undefined for the content of another service. */
export function parseProviderState(content: string): ProviderState | undefined {
  if (!content.startsWith(FORMAT)) return undefined;
  const state = parseJson(Buffer.from(content.slice(FORMAT.length), 'base64url').toString());
  if (!isRecord(state) || typeof state['model'] !== 'string') return undefined;
  const { model, hasText, fields, calls } = state;
  const callFields = isRecord(calls)
    ? Object.entries(calls).map(([id, entry]) => [id, isRecord(entry) ? selectCallFields(entry) : undefined])
    : [];
  return {
    model,
    hasText: hasText === true,
    fields: isRecord(fields) ? selectMessageFields(fields) : undefined,
    calls: Object.fromEntries(callFields) as Fields,
  };
}
