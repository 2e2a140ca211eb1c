import { inputSchema, MAX, type OfferedTool } from '@switchyard/contracts';
import { z } from 'zod';
import type { SkillDocument } from '../documents/collections.ts';

const PREFIX = 'skill__';

/** Input of the tool of a skill. */
export const SkillToolInput = z.strictObject({
  arguments: z.string().max(MAX.text).default('').describe('arguments of the skill, as text'),
  file: z.string().max(MAX.path).optional().describe('a file that the instructions name: returns its text instead of the instructions'),
});

let parameters: OfferedTool['parameters'] | undefined;

/** Returns the tool that loads the instructions of a skill. Models see its description until they call it. */
export function toSkillTool({ name, head }: SkillDocument): OfferedTool {
  return {
    name: `${PREFIX}${name}`,
    group: 'skills',
    provider: name,
    description: `Loads the skill ${name}: ${head.description}`,
    parameters: (parameters ??= inputSchema(SkillToolInput)),
    readOnly: true,
    idempotent: true,
    effect: 'read',
  };
}

/** Returns the skill of a tool; undefined for other tools. */
export function getSkillName(tool: string): string | undefined {
  return tool.startsWith(PREFIX) ? tool.slice(PREFIX.length) : undefined;
}
