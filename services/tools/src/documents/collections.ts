import { SkillName } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { z } from 'zod';
import { SkillHead } from '../format/skill-head.ts';

const instant = z.int().nonnegative();

const DAY_MS = 86_400_000;
/** The files of a skill, whatever their encoding. */
const FILES_BYTES = 8_388_608;

/** A skill without its texts. A deleted one stays for a day, so that its event is published. */
export const SkillDocument = z.object({
  /** `<owner>/<name>`. */
  id: z.string(),
  /** The agent that has the skill; `*` for the agents of the whole tenant. */
  owner: z.string(),
  name: SkillName,
  source: z.enum(['local', 'imported']),
  /** Address of an imported skill. */
  url: z.string().optional(),
  head: json(SkillHead),
  /** Id of its texts. Each version has its own, so that a reader never sees half of a change. */
  textId: z.string(),
  /** Paths of the files beside SKILL.md. */
  files: json(z.array(z.string())),
  createdAt: instant,
  updatedAt: instant,
  deletedAt: instant.optional(),
});
export type SkillDocument = z.infer<typeof SkillDocument>;

export const skillCollection = collection({
  name: 'skills',
  schema: SkillDocument,
  key: 'id',
  indexes: [{ fields: ['owner', 'name'] }],
  expires: { field: 'deletedAt', afterMs: DAY_MS },
});

/** The texts of one version of a skill. */
export const SkillTextDocument = z.object({
  textId: z.string(),
  skillId: z.string(),
  files: json(z.array(z.object({ path: z.string(), content: z.string() }))),
  createdAt: instant,
});
export type SkillTextDocument = z.infer<typeof SkillTextDocument>;

export const skillTextCollection = collection({
  name: 'texts',
  schema: SkillTextDocument,
  key: 'textId',
  maxBytes: FILES_BYTES,
  indexes: [{ fields: ['skillId'] }],
});
