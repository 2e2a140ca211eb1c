import { z } from 'zod';
import { IsoTime, JsonObject, NoParams, pageSize } from '../common.ts';
import { ConfigurationPatch } from '../config/sections.ts';
import { defineMethods } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';

const Section = z.string().min(1).max(128);
const Sha = z.string().min(1).max(128).describe('a version, as config.history names it');

export const ConfigApplied = z.object({
  applied: z.literal(true),
  sections: z.array(upTo(MAX.name)).max(MAX.many),
  commitSha: upTo(MAX.name).optional(),
  restarting: z.literal(true),
});

export const ConfigPatched = z.object({
  patched: z.literal(true),
  section: upTo(MAX.name).optional(),
  key: upTo(MAX.line).optional(),
  value: z.unknown().optional(),
  commitSha: upTo(MAX.name).optional(),
  restarting: z.literal(true),
});

export const ConfigRolledBack = z.object({
  rolledBack: z.literal(true),
  sha: upTo(MAX.name),
  newCommitSha: upTo(MAX.name),
  restarting: z.literal(true),
});

export const ConfigCollected = z.object({
  gc: z.literal(true),
  squashed: z.int().optional(),
  newRootSha: upTo(MAX.name).optional(),
});

/** One change of the configuration, and who made it. */
export const ConfigVersion = z.object({
  sha: upTo(MAX.name),
  date: IsoTime,
  message: upTo(MAX.line),
  author: upTo(MAX.name).optional(),
  section: upTo(MAX.name).optional(),
  user: upTo(MAX.name).optional(),
  agent: upTo(MAX.name).optional(),
});

export const ConfigOverview = z.object({ config: JsonObject, sections: z.array(upTo(MAX.name)).max(MAX.many) });

export const ConfigSchemas = z.object({
  schema: JsonObject.describe('JSON Schema of the section, or of each section by name'),
  sections: z.array(upTo(MAX.name)).max(MAX.many),
  section: upTo(MAX.name).optional(),
});

/** Nothing at all would empty the stored layer, which nobody asks for by leaving everything out. */
const WholeConfiguration = ConfigurationPatch.refine((configuration) => Object.keys(configuration).length > 0, {
  error: 'at least one section; config.rollback goes back to an earlier version',
  params: { received: 'an empty object' },
});

const SHA = '9f2c1e7ab04d';

const configReads = defineMethods({
  'config.get': {
    summary: 'One section as it is, secrets included; without a section, the whole configuration with secrets redacted.',
    description: 'Meant for internal wiring. Each raw read is put on record.',
    scope: 'admin',
    params: z.strictObject({ section: Section.optional() }),
    result: JsonObject,
    idempotent: true,
    errors: ['NOT_FOUND'],
    emits: ['audit:event'],
    examples: [{ params: { section: 'providers' }, result: { entries: {} } }],
  },
  'config.read': {
    summary: 'One section, or all of them, with secrets redacted.',
    description: '`sections` lists those that are objects. The keys beside them, such as logLevel, stand at the top of `config`.',
    scope: 'admin',
    params: z.strictObject({ section: Section.optional() }),
    result: z.union([ConfigOverview, JsonObject]),
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      { params: { section: 'providers' }, result: { entries: {} } },
      { params: {}, result: { config: { providers: { entries: {} } }, sections: ['providers'] } },
    ],
  },
  'config.schema': {
    summary: 'The JSON Schema of one section, or of all.',
    scope: 'admin',
    params: z.strictObject({ section: Section.optional() }),
    result: ConfigSchemas,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { section: 'providers' }, result: { schema: { type: 'object' }, sections: ['providers'], section: 'providers' } }],
  },
  'config.history': {
    summary: 'Lists the versions of the configuration, newest first.',
    scope: 'admin',
    params: z.strictObject({ limit: pageSize(10, 1000) }),
    result: z.object({ entries: z.array(ConfigVersion).max(MAX.all), error: upTo(MAX.line).optional() }),
    idempotent: true,
    examples: [
      {
        params: { limit: 1 },
        result: { entries: [{ sha: SHA, date: '2025-11-21T10:00:00.000Z', message: 'config.set gateway.rateLimit', author: 'operator' }] },
      },
    ],
  },
  'config.diff': {
    summary: 'What changed since a version, as a unified diff; without one, since the version before.',
    scope: 'admin',
    params: z.strictObject({ sha: Sha.optional() }),
    result: z.object({ diff: upTo(MAX.payload) }),
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { sha: SHA }, result: { diff: '--- a/gateway\n+++ b/gateway\n@@ -1 +1 @@\n-port: 4766\n+port: 4767\n' } }],
  },
});

const configWrites = defineMethods({
  'config.apply': {
    summary: 'Replaces the stored configuration as a whole.',
    description: 'What cannot change at run time must be as it is. A key set by the environment is refused with the variable’s name.',
    scope: 'admin',
    params: WholeConfiguration,
    result: ConfigApplied,
    errors: ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['config:patched', 'audit:event'],
    examples: [
      { params: { providers: { entries: {} } }, result: { applied: true, sections: ['providers'], commitSha: SHA, restarting: true } },
    ],
  },
  'config.patch': {
    summary: 'Merges a partial configuration into the stored one.',
    description:
      'The params are the patch: sections by name, merged deeply, arrays replaced. Model providers can be added here; their keys are only ever named.',
    scope: 'admin',
    params: ConfigurationPatch,
    result: ConfigPatched,
    errors: ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['config:patched', 'audit:event'],
    examples: [
      { params: { providers: { entries: {} } }, result: { patched: true, section: 'providers', commitSha: SHA, restarting: true } },
    ],
  },
  'config.set': {
    summary: 'Sets one key of one section.',
    scope: 'admin',
    params: z.strictObject({ section: Section, key: z.string().min(1).max(512).describe('dots lead deeper'), value: z.unknown() }),
    result: z.object({ ok: z.literal(true), previous: z.unknown().optional() }),
    errors: ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['config:patched', 'audit:event'],
    examples: [{ params: { section: 'gateway', key: 'maxBatchSize', value: 100 }, result: { ok: true, previous: 50 } }],
  },
  'config.rollback': {
    summary: 'Makes an earlier version the configuration again, as a new version.',
    scope: 'admin',
    params: z.strictObject({ sha: Sha }),
    result: ConfigRolledBack,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['config:patched', 'audit:event'],
    examples: [{ params: { sha: SHA }, result: { rolledBack: true, sha: SHA, newCommitSha: 'b71d40c2e95f', restarting: true } }],
  },
  'config.gc': {
    summary: 'Folds old versions of the configuration into one.',
    scope: 'admin',
    params: NoParams,
    result: ConfigCollected,
    emits: ['audit:event'],
    examples: [{ params: {}, result: { gc: true, squashed: 40, newRootSha: SHA } }],
  },
});

export const configMethods = defineMethods({ ...configReads, ...configWrites });
