import { MAX, SkillName } from '@switchyard/contracts';
import { z } from 'zod';

const MAX_DESCRIPTION_CHARS = 1_024;

const name = z.string().min(1).max(MAX.name);
const names = z.array(name).max(MAX.few);
const programs = z.array(name.regex(/^[\w.+-]+$/)).max(MAX.few);
const variables = z.array(name.regex(/^[A-Za-z_]\w*$/)).max(MAX.few);
/** Data that the format allows and no service reads. */
const advisory = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= MAX.value, `object of at most ${MAX.value} characters as JSON`);

/** The front matter of a SKILL.md. Unknown fields are kept out. */
export const SkillHead = z.object({
  name: SkillName,
  description: z.string().trim().min(1).max(MAX_DESCRIPTION_CHARS),
  type: z.literal('prompt').optional(),
  version: z.string().max(MAX.name).optional(),
  license: z.string().max(MAX.name).optional(),
  /** Users may invoke the skill with `/skill:<name>`. */
  userInvocable: z.boolean().default(true),
  /** Only users invoke the skill; models are not offered it. */
  disableModelInvocation: z.boolean().default(false),
  /** Tools that the rest of the turn may use: names, methods and group:<name>. Without it nothing changes. */
  allowedTools: names.optional(),
  argumentHint: z.string().max(MAX.line).optional(),
  /** JSON Schema of the arguments. Arguments are not validated against it. */
  inputSchema: advisory.optional(),
  /** Permissions that the author declares. The permissions of the agent decide. */
  permissions: z
    .object({ fsRead: names.optional(), fsWrite: names.optional(), net: names.optional(), env: variables.optional() })
    .optional(),
  metadata: advisory.optional(),
  /** Operating systems that the skill works on, as `process.platform` names them; default: all. */
  os: z.array(name).max(MAX.words).optional(),
  requires: z.object({ bins: programs.optional(), env: variables.optional() }).optional(),
});
export type SkillHead = z.infer<typeof SkillHead>;
