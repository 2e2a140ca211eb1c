import { z } from 'zod';
import { AgentId, Count } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const SkillName = z
  .string()
  .max(64)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
  .describe('lower-case letters, digits and single hyphens');

/** A skill an agent can use, without its text. */
export const Skill = z.object({
  name: boundedString(MAX.name),
  description: boundedString(MAX.text),
  location: boundedString(MAX.path),
  source: z.enum(['bundled', 'workspace', 'local', 'learned', 'imported']),
  disableModelInvocation: z.boolean().optional().describe('true: only users invoke it'),
  userInvocable: z.boolean().optional().describe('false: only models invoke it'),
  shared: z.boolean().optional().describe('every agent of the tenant has it'),
  provenanceSummary: boundedString(MAX.line).optional(),
});

/** What a model reads of a skill that is used. */
export const SkillInstructions = z.object({
  skill: boundedString(MAX.name),
  instructions: boundedString(MAX.text),
  allowedTools: z
    .array(boundedString(MAX.name))
    .max(MAX.few)
    .optional()
    .describe('tools that the rest of the turn may use: names, methods and group:<name>; default: those of the agent'),
  files: z.array(boundedString(512)).max(200).optional().describe('further files, which the tool of the skill reads'),
});
export type SkillInstructions = z.infer<typeof SkillInstructions>;

export const SkillList = z.object({ skills: z.array(Skill).max(MAX.all) });
export const SkillUploaded = z.object({ ok: z.literal(true), path: boundedString(MAX.path) });
export const SkillImported = z.object({
  ok: z.literal(true),
  path: boundedString(MAX.path),
  name: boundedString(MAX.name),
  fileCount: Count,
});
export const SkillCreated = z.object({ ok: z.literal(true), path: boundedString(MAX.path), name: boundedString(MAX.name) });
export const SkillUpdated = z.object({ ok: z.literal(true), name: boundedString(MAX.name) });
export const SkillDeleted = z.object({ ok: z.literal(true) });

const Content = z.string().min(1).max(MAX.text).describe('SKILL.md: YAML front matter with name and description, then the text');
const place = {
  scope: z.enum(['local', 'shared']).default('local').describe('shared: for every agent; only the default agent may'),
  agentId: AgentId.optional(),
};
const description = 'Rejected if the content scan reports a critical finding.';
const refusals = ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'] as const;

const name = 'release-notes';
const content = '---\nname: release-notes\ndescription: Writes release notes from commits.\n---\nRead the commits since the last tag.\n';

export const skillsMethods = defineMethods({
  'skills.list': {
    summary: 'Lists the skills an agent can use.',
    scope: 'rpc',
    beyond: true,
    params: z.strictObject({ agentId: AgentId.optional() }),
    result: SkillList,
    idempotent: true,
    blobs: ['skills'],
    examples: [
      {
        params: {},
        result: {
          skills: [{ name, description: 'Writes release notes from commits.', location: 'skills/release-notes', source: 'workspace' }],
        },
      },
    ],
  },
  'skills.upload': {
    summary: 'Stores a skill with all its files.',
    description,
    scope: 'admin',
    beyond: true,
    params: z.strictObject({
      name: SkillName,
      files: z
        .array(z.strictObject({ path: z.string().min(1).max(512), content: boundedString(MAX.text) }))
        .min(1)
        .max(200)
        .describe('one of them is SKILL.md'),
      ...place,
    }),
    result: SkillUploaded,
    blobs: ['files'],
    errors: ['ALREADY_EXISTS', ...refusals],
    emits: ['skill:loaded', 'skill:rejected', 'skill:registry_reset', 'audit:event'],
    examples: [{ params: { name, files: [{ path: 'SKILL.md', content }] }, result: { ok: true, path: 'skills/release-notes' } }],
  },
  'skills.import': {
    summary: 'Installs a skill from an address.',
    description,
    scope: 'admin',
    beyond: true,
    params: z.strictObject({
      url: z
        .url({ protocol: /^https?$/ })
        .max(MAX.url)
        .describe('folder on GitHub (https://github.com/<owner>/<repo>/tree/<ref>/<path>), .zip archive, or SKILL.md'),
      ...place,
    }),
    result: SkillImported,
    deadlineMs: 60_000,
    errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNAVAILABLE', ...refusals],
    emits: ['skill:loaded', 'skill:rejected', 'skill:registry_reset', 'audit:event'],
    examples: [
      {
        params: { url: 'https://github.com/example/skills/tree/main/release-notes' },
        result: { ok: true, path: 'skills/release-notes', name, fileCount: 2 },
      },
    ],
  },
  'skills.create': {
    summary: 'Creates a skill from one text.',
    description,
    scope: 'admin',
    beyond: true,
    params: z.strictObject({
      name: SkillName,
      content: Content,
      force: z.boolean().default(false).describe('replaces a skill of that name'),
      ...place,
    }),
    result: SkillCreated,
    blobs: ['content'],
    errors: ['ALREADY_EXISTS', ...refusals],
    emits: ['skill:loaded', 'skill:rejected', 'skill:registry_reset', 'audit:event'],
    examples: [
      {
        params: { name: 'triage', content: '---\nname: triage\ndescription: Sorts new issues.\n---\nRead the open issues.\n' },
        result: { ok: true, path: 'skills/triage', name: 'triage' },
      },
    ],
  },
  'skills.update': {
    summary: 'Replaces the text of a skill.',
    description,
    scope: 'admin',
    audited: 'mutate',
    beyond: true,
    params: z.strictObject({ name: SkillName, content: Content, ...place }),
    result: SkillUpdated,
    idempotent: true,
    blobs: ['content'],
    errors: ['NOT_FOUND', ...refusals],
    emits: ['skill:loaded', 'skill:rejected', 'skill:registry_reset', 'audit:event'],
    examples: [{ params: { name, content }, result: { ok: true, name } }],
  },
  'skills.delete': {
    summary: 'Deletes a skill with its files.',
    scope: 'admin',
    audited: 'mutate',
    beyond: true,
    params: z.strictObject({ name: SkillName, ...place }),
    result: SkillDeleted,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    emits: ['skill:registry_reset', 'audit:event'],
    examples: [{ params: { name }, result: { ok: true } }],
  },
});
