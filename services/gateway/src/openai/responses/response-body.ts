import { validate, type JsonFormat, type StatelessTurn } from '@switchyard/contracts';
import { RefusalError } from '../../request/refusal.ts';
import { conversation, type Said } from '../chat-completions/completion-messages.ts';
import { responseEcho } from './response-echo.ts';
import { messagesOf, type SaidItem } from './response-items.ts';
import { LenientBody, StrictBody, type ResponseBody } from './response-schema.ts';
import { callersTools } from './response-tools.ts';
import { fewFields, invalidBody, LENIENT_HOW_TO, refusedField } from '../openai-body.ts';
import { withoutNulls } from '../openai-fields.ts';

/** A parsed `/v1/responses` request. */
export interface ResponseRequest {
  turn: Omit<StatelessTurn, 'turnId'>;
  /** The instructions that a later response continues with. */
  system: string | undefined;
  stream: boolean;
  store: boolean;
  background: boolean;
  /** Request fields that the response resource repeats. */
  echo: Record<string, unknown>;
}

/** Reads the body; throws the refusal of one that is wrong, naming what is. */
export function responseBody(body: unknown, lenient: boolean): ResponseBody {
  fewFields(body);
  const given = withoutNulls(body);
  const parsed = validate(lenient ? LenientBody : StrictBody, given);
  if (!parsed.success) {
    const refusal = invalidBody(parsed.error);
    const helped = !lenient && validate(LenientBody, given).success;
    throw new RefusalError(helped ? { ...refusal, message: `${refusal.message}. ${LENIENT_HOW_TO}` } : refusal);
  }
  const { background, store } = parsed.data;
  if (background && !store) throw refusedField('background', 'expected false where store is false, got true');
  return parsed.data;
}

/** Builds the turn of a request from the earlier conversation (`before`) and the resolved input `items`. */
export function toResponseRequest(body: ResponseBody, before: readonly Said[], items: readonly SaidItem[]): ResponseRequest {
  const { model, instructions, temperature, max_output_tokens: maxTokens, stream, store, background } = body;
  const said = conversation([...before, ...messagesOf(items)], 'input');
  const { system, ...talk } = said.turn;
  const tools = callersTools({ tools: body.tools, choice: body.tool_choice, parallel: body.parallel_tool_calls });
  if (tools === 'wrong') throw refusedField('tool_choice', 'expected one of the tools, got none of them');
  // Calls that the caller made are of tools of its own, even where it offers none any more.
  const offered = tools ?? (said.called ? { offered: [] } : undefined);
  const told = [instructions, system].filter((one) => one !== undefined && one !== '');
  const format = formatOf(body.text?.format);
  return {
    turn: {
      model,
      ...talk,
      ...(told.length === 0 ? {} : { system: told.join('\n') }),
      ...(offered === undefined ? {} : { tools: offered }),
      ...(format === undefined ? {} : { format }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    system,
    stream,
    store,
    background,
    echo: responseEcho(body),
  };
}

function formatOf(format: NonNullable<ResponseBody['text']>['format']): JsonFormat | undefined {
  if (format == null || format.type === 'text') return undefined;
  if (format.type === 'json_object') return {};
  return { name: format.name, schema: format.schema, ...(format.strict == null ? {} : { strict: format.strict }) };
}
