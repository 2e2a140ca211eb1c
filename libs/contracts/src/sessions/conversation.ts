import { z } from 'zod';
import { JsonObject } from '../common.ts';
import { MAX, upTo } from '../sizes.ts';

const text = upTo(MAX.text);
const name = z.string().min(1).max(MAX.name);
// Upstreams choose them, and some hide more than a name in them.
const callId = z.string().min(1).max(MAX.url);

/** A call of a tool that whoever asked for the turn runs itself. */
export const CallerToolCall = z.strictObject({ callId, name, arguments: text.describe('as the model wrote them: JSON, unless it erred') });
export type CallerToolCall = z.infer<typeof CallerToolCall>;

/** A tool that whoever asked for the turn runs itself. */
export const CallerTool = z.strictObject({
  name,
  description: text.optional(),
  parameters: JsonObject.optional().describe('JSON Schema; a tool without takes nothing'),
  strict: z.boolean().optional().describe('whether arguments must keep to the schema, where the model can'),
});
export type CallerTool = z.infer<typeof CallerTool>;

/** The caller's own tools. They stand instead of the agent's, and a call of one ends the turn with `tool_calls`. */
export const CallerTools = z.strictObject({
  offered: z.array(CallerTool).max(MAX.many),
  choice: z
    .union([z.enum(['auto', 'none', 'required']), z.strictObject({ name })])
    .optional()
    .describe('which the model may or must call'),
  parallel: z.boolean().optional().describe('false: at most one call ends the turn'),
});
export type CallerTools = z.infer<typeof CallerTools>;

/** What was said around the message of a turn that keeps nothing; its caller kept it. */
export const TurnMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), text }),
  z.strictObject({ role: z.literal('assistant'), text, toolCalls: z.array(CallerToolCall).max(MAX.many).optional() }),
  z.strictObject({ role: z.literal('tool'), callId, name, text }),
]);
export type TurnMessage = z.infer<typeof TurnMessage>;

/** An answer that must be a JSON text. */
export const JsonFormat = z.strictObject({
  schema: JsonObject.optional(),
  name: name.optional(),
  strict: z.boolean().optional().describe('whether the text must keep to the schema, where the model can'),
});
export type JsonFormat = z.infer<typeof JsonFormat>;
