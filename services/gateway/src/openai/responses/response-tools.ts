import { MAX, type CallerTool, type CallerTools } from '@switchyard/contracts';
import { z } from 'zod';
import { name, schema, text } from '../openai-fields.ts';

/** A function of the caller's. Tools that a provider runs itself are not here to be had, and are refused. */
export const ResponseTool = z
  .object({
    type: z.literal('function'),
    name,
    description: text.nullish(),
    parameters: schema.nullish(),
    strict: z.boolean().nullish(),
  })
  .transform(({ name: called, description, parameters, strict }) => ({
    name: called,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  }));

const named = z.object({ type: z.literal('function'), name });
const mode = z.enum(['auto', 'none', 'required']);

export const ResponseToolChoice = z.union([
  mode,
  named,
  z.object({ type: z.literal('allowed_tools'), mode: mode.default('auto'), tools: z.array(named).min(1).max(MAX.many) }),
]);
type Choice = z.output<typeof ResponseToolChoice>;

export interface AskedTools {
  tools: readonly CallerTool[];
  choice: Choice | undefined;
  parallel: boolean | undefined;
}

/** The tools of a turn. Undefined: its agent has its own. A choice of what is not offered is `wrong`. */
export function callersTools({ tools, choice, parallel }: AskedTools): CallerTools | undefined | 'wrong' {
  if (tools.length === 0) return choice === undefined || choice === 'auto' ? undefined : choice === 'none' ? { offered: [] } : 'wrong';
  const offered = typeof choice === 'object' && choice.type === 'allowed_tools' ? tools.filter((one) => isNamed(choice.tools, one)) : tools;
  const meant = typeof choice !== 'object' ? choice : choice.type === 'function' ? { name: choice.name } : choice.mode;
  const there = offered.length > 0 && (typeof meant !== 'object' || isNamed(offered, meant));
  if (!there) return 'wrong';
  return { offered: [...offered], ...(meant === undefined ? {} : { choice: meant }), ...(parallel === undefined ? {} : { parallel }) };
}

function isNamed(among: readonly { name: string }[], { name: wanted }: { name: string }): boolean {
  return among.some((one) => one.name === wanted);
}

/** A tool as the resource of a response repeats it. */
export function toolEcho({ name: called, description, parameters, strict }: CallerTool) {
  return { type: 'function', name: called, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
}
