import { MAX, SkillName } from '@switchyard/contracts';
import { z } from 'zod';

const MAX_DESCRIPTION_CHARS = 1_024;

const names = z.array(z.string().min(1).max(MAX.name)).max(MAX.few);

/** The front matter of a SKILL.md. Unknown fields are kept out. */
export const SkillHead = z.object({
  name: SkillName,
  description: z.string().trim().min(1).max(MAX_DESCRIPTION_CHARS),
  version: z.string().max(MAX.name).optional(),
  license: z.string().max(MAX.name).optional(),
  /** Users may invoke the skill with `/skill:<name>`. */
  userInvocable: z.boolean().default(true),
  /** Only users invoke the skill; models are not offered it. */
  disableModelInvocation: z.boolean().default(false),
  /** Tools that the rest of the turn may use: names, methods and group:<name>. Without it nothing changes. */
  allowedTools: names.optional(),
  argumentHint: z.string().max(MAX.line).optional(),
  /** Operating systems that the skill works on, such as `linux`; default: all. */
  os: z.array(z.string().max(MAX.name)).max(MAX.words).optional(),
  requires: z.object({ bins: names.optional(), env: names.optional() }).optional(),
});
export type SkillHead = z.infer<typeof SkillHead>;
