import { z } from 'zod';
import { IsoTime, JsonObject, pageSize } from '../values/common.ts';
import { createMergeSchema, createPatchSchema } from '../config/patch.ts';
import { sections } from '../config/sections.ts';
import { defineMethods } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { safeKeys } from '../values/safe-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { ConfigInForce } from './config-in-force.ts';

const Section = z.string().min(1).max(128);
const Sha = z.string().min(1).max(128).describe('version name of config.history, or a unique prefix');

/** Options of a write. No section has one of these names. */
export const CONFIG_WRITE_OPTIONS = {
  baseSha: Sha.optional().describe('base version; the write fails with ABORTED if the head has moved'),
  message: boundedString(MAX.line).optional().describe('reason, shown in the history'),
  dryRun: z.boolean().optional().describe('validates without writing'),
};

const notInForce = z.array(boundedString(MAX.line)).max(MAX.many).optional().describe('keys without effect, because no service reads them');
const warnings = z
  .array(boundedString(MAX.line))
  .max(MAX.many)
  .optional()
  .describe('what the write causes besides, for example a webhook mapping that matches everything');

export const ConfigApplied = z.object({
  applied: z.literal(true),
  sections: z.array(boundedString(MAX.name)).max(MAX.many),
  commitSha: boundedString(MAX.name).optional(),
  restarting: z.literal(true),
  notInForce,
  warnings,
});

export const ConfigPatched = z.object({
  patched: z.literal(true),
  section: boundedString(MAX.name).optional(),
  key: boundedString(MAX.line).optional(),
  value: z.unknown().optional(),
  commitSha: boundedString(MAX.name).optional(),
  restarting: z.literal(true),
  notInForce,
  warnings,
});

export const ConfigSet = z.object({
  ok: z.literal(true),
  previous: z.unknown().optional(),
  commitSha: boundedString(MAX.name).optional(),
  notInForce,
  warnings,
});

export const ConfigRolledBack = z.object({
  rolledBack: z.literal(true),
  sha: boundedString(MAX.name),
  newCommitSha: boundedString(MAX.name),
  restarting: z.literal(true),
});

/** Effect that a write with `dryRun` would have. */
export const ConfigChecked = z.object({
  dryRun: z.literal(true),
  valid: z.boolean(),
  errors: z.array(boundedString(MAX.line)).max(MAX.many),
  diff: boundedString(MAX.payload).optional().describe('changes of the stored configuration, as a unified diff'),
  notInForce,
  warnings,
});

export const ConfigCollected = z.object({
  gc: z.literal(true),
  squashed: z.int().optional(),
  newRootSha: boundedString(MAX.name).optional(),
  dryRun: z.literal(true).optional(),
});

/** A changed value of the stored configuration. A value that was not stored, or is not any more, is absent. */
export const ConfigChange = z.object({
  path: boundedString(MAX.line),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
});

/** One version of the configuration, with its author. */
export const ConfigVersion = z.object({
  sha: boundedString(MAX.name),
  date: IsoTime,
  message: boundedString(MAX.line),
  author: boundedString(MAX.name).optional(),
  section: boundedString(MAX.name).optional(),
  user: boundedString(MAX.name).optional(),
  agent: boundedString(MAX.name).optional(),
  parent: boundedString(MAX.name).optional().describe('previous version; absent for the first'),
  restores: boundedString(MAX.name).optional().describe('version restored by a rollback'),
  reason: boundedString(MAX.line).optional().describe('reason of the automatic rollback'),
});

/** The layer that sets a key, and its location. */
export const ConfigOrigin = z.object({
  layer: z.enum(['default', 'preset', 'file', 'stored', 'environment']),
  from: boundedString(MAX.path).optional().describe('the file, or the variable'),
});

export const ConfigOverview = z.object({
  config: JsonObject,
  sections: z.array(boundedString(MAX.name)).max(MAX.many),
  origins: z.record(boundedString(MAX.line), ConfigOrigin).check(maxKeys(MAX.all)).optional().describe('by dotted key, if requested'),
});

export const ConfigSchemas = z.object({
  schema: JsonObject.describe('JSON Schema of the section, or of each section by name'),
  sections: z.array(boundedString(MAX.name)).max(MAX.many),
  section: boundedString(MAX.name).optional(),
});

const writable = z.strictObject({ ...sections, ...CONFIG_WRITE_OPTIONS });
const Change = createMergeSchema(writable).check(safeKeys());
const Written = createPatchSchema(writable).check(safeKeys());
/** Nothing at all would empty the stored layer, which nobody asks for by leaving everything out. */
const WholeConfiguration = Written.refine((written) => Object.keys(written).some((key) => !(key in CONFIG_WRITE_OPTIONS)), {
  error: 'at least one section; config.rollback goes back to an earlier version',
  params: { received: 'an empty object' },
});

const SHA = '9f2c1e7ab04d';

const configReads = defineMethods({
  'config.get': {
    summary: 'Returns one section with its secrets; without a section, the whole configuration with redacted secrets.',
    description: 'For internal use. Each read with secrets is recorded in the audit log.',
    scope: 'admin',
    audited: 'read',
    params: z.strictObject({ section: Section.optional() }),
    result: JsonObject,
    blobs: ['*'],
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: { section: 'providers' }, result: { entries: {} } }],
  },
  'config.read': {
    summary: 'Returns one section or all, with redacted secrets.',
    description: '`sections` lists the object sections. Other keys, for example logLevel, are root keys of `config`.',
    scope: 'admin',
    params: z.strictObject({
      section: Section.optional(),
      origins: z.boolean().optional().describe('returns the source of each key; the result then has `config`, also for one section'),
    }),
    result: z.union([ConfigOverview, JsonObject]),
    blobs: ['*'],
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    examples: [
      { params: { section: 'providers' }, result: { entries: {} } },
      { params: {}, result: { config: { providers: { entries: {} } }, sections: ['providers'] } },
    ],
  },
  'config.schema': {
    summary: 'Returns the JSON Schema of one section or all.',
    scope: 'admin',
    params: z.strictObject({ section: Section.optional() }),
    result: ConfigSchemas,
    blobs: ['schema', 'sections'],
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    examples: [{ params: { section: 'providers' }, result: { schema: { type: 'object' }, sections: ['providers'], section: 'providers' } }],
  },
});

const configWrites = defineMethods({
  'config.apply': {
    summary: 'Replaces the stored configuration.',
    description: 'Immutable keys must keep their values. A key set by the environment is rejected with the variable’s name.',
    scope: 'admin',
    audited: 'destructive',
    params: WholeConfiguration,
    result: z.union([ConfigApplied, ConfigChecked]),
    blobs: ['*'],
    errors: ['FAILED_PRECONDITION', 'PERMISSION_DENIED', 'ABORTED', 'OUT_OF_RANGE'],
    emits: ['config:patched', 'model:catalog_loaded', 'audit:event'],
    examples: [
      { params: { providers: { entries: {} } }, result: { applied: true, sections: ['providers'], commitSha: SHA, restarting: true } },
    ],
  },
  'config.patch': {
    summary: 'Merges a partial configuration into the stored one.',
    description:
      'The params are the patch: sections by name, merged deeply. Lists whose entries have an id are merged by it, integrations.mcp.servers by name and models.aliases by alias; other lists are replaced; null removes a stored key. Besides, baseSha, message and dryRun. Model providers can be added; their API keys are referenced by name.',
    scope: 'admin',
    audited: 'destructive',
    params: Change,
    result: z.union([ConfigPatched, ConfigChecked]),
    blobs: ['*'],
    errors: ['FAILED_PRECONDITION', 'PERMISSION_DENIED', 'ABORTED', 'OUT_OF_RANGE'],
    emits: ['config:patched', 'model:catalog_loaded', 'audit:event'],
    examples: [
      { params: { providers: { entries: {} } }, result: { patched: true, section: 'providers', commitSha: SHA, restarting: true } },
    ],
  },
  'config.set': {
    summary: 'Sets one key of one section.',
    scope: 'admin',
    audited: 'mutate',
    params: z
      .strictObject({
        section: Section,
        key: z.string().min(1).max(512).describe('dots separate nested keys'),
        value: z.unknown().describe('null removes the stored value'),
        ...CONFIG_WRITE_OPTIONS,
      })
      .check(safeKeys()),
    result: z.union([ConfigSet, ConfigChecked]),
    blobs: ['*'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED', 'ABORTED', 'OUT_OF_RANGE'],
    emits: ['config:patched', 'model:catalog_loaded', 'audit:event'],
    examples: [{ params: { section: 'gateway', key: 'maxBatchSize', value: 100 }, result: { ok: true, previous: 50 } }],
  },
  'config.rollback': {
    summary: 'Restores an earlier version as a new version.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ sha: Sha, ...CONFIG_WRITE_OPTIONS }),
    result: z.union([ConfigRolledBack, ConfigChecked]),
    blobs: ['*'],
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED', 'ABORTED'],
    emits: ['config:patched', 'model:catalog_loaded', 'audit:event'],
    examples: [{ params: { sha: SHA }, result: { rolledBack: true, sha: SHA, newCommitSha: 'b71d40c2e95f', restarting: true } }],
  },
  'config.gc': {
    summary: 'Deletes old versions of the configuration.',
    description: 'The newest 50 are kept. Every version is complete, so none depends on a deleted one.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ dryRun: CONFIG_WRITE_OPTIONS.dryRun }),
    result: ConfigCollected,
    errors: ['PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: {}, result: { gc: true, squashed: 40, newRootSha: SHA } }],
  },
});

/** Declared after the writes, because the examples use versions that the writes create. */
const configVersions = defineMethods({
  'config.history': {
    summary: 'Lists the versions of the configuration, newest first.',
    scope: 'admin',
    params: z.strictObject({ limit: pageSize(10, 1000) }),
    result: z.object({
      entries: z.array(ConfigVersion).max(MAX.all),
      error: boundedString(MAX.line).optional(),
      inForce: ConfigInForce.optional(),
    }),
    blobs: ['entries', 'inForce'],
    idempotent: true,
    examples: [
      {
        params: { limit: 1 },
        result: { entries: [{ sha: SHA, date: '2025-11-21T10:00:00.000Z', message: 'config.set gateway.rateLimit', author: 'operator' }] },
      },
    ],
  },
  'config.diff': {
    summary: 'Returns the changes since a version, default the previous one, as a unified diff.',
    scope: 'admin',
    params: z.strictObject({ sha: Sha.optional(), to: Sha.optional().describe('later version of the comparison; default the newest') }),
    result: z.object({
      diff: boundedString(MAX.payload),
      changes: z.array(ConfigChange).max(MAX.many).optional().describe('the first changed values, with both values'),
    }),
    blobs: ['diff', 'changes'],
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    examples: [
      {
        params: { sha: SHA },
        result: {
          diff: '--- a/gateway\n+++ b/gateway\n@@ -1 +1 @@\n-port: 4766\n+port: 4767\n',
          changes: [{ path: 'gateway.port', before: 4766, after: 4767 }],
        },
      },
    ],
  },
});

export const configMethods = defineMethods({ ...configReads, ...configWrites, ...configVersions });
