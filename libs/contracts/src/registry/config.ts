import { z } from 'zod';
import { IsoTime, JsonObject, pageSize } from '../common.ts';
import { patchOf } from '../config/patch.ts';
import { sections } from '../config/sections.ts';
import { defineMethods } from '../define.ts';
import { mostKeys } from '../most-keys.ts';
import { safeKeys } from '../safe-keys.ts';
import { MAX, upTo } from '../sizes.ts';
import { ConfigInForce } from './config-in-force.ts';

const Section = z.string().min(1).max(128);
const Sha = z.string().min(1).max(128).describe('a version, as config.history names it, or as much of its beginning as no other has');

/** What a write may say besides what it writes. No section is called like one of them. */
export const CONFIG_WRITE_OPTIONS = {
  baseSha: Sha.optional().describe('the version that this write is based on: ABORTED when the head is another by now'),
  message: upTo(MAX.line).optional().describe('why, for the history'),
  dryRun: z.boolean().optional().describe('checks everything, writes nothing'),
};

const notInForce = z
  .array(upTo(MAX.line))
  .max(MAX.many)
  .optional()
  .describe('what was written without effect, because nothing reads it yet');

export const ConfigApplied = z.object({
  applied: z.literal(true),
  sections: z.array(upTo(MAX.name)).max(MAX.many),
  commitSha: upTo(MAX.name).optional(),
  restarting: z.literal(true),
  notInForce,
});

export const ConfigPatched = z.object({
  patched: z.literal(true),
  section: upTo(MAX.name).optional(),
  key: upTo(MAX.line).optional(),
  value: z.unknown().optional(),
  commitSha: upTo(MAX.name).optional(),
  restarting: z.literal(true),
  notInForce,
});

export const ConfigSet = z.object({
  ok: z.literal(true),
  previous: z.unknown().optional(),
  commitSha: upTo(MAX.name).optional(),
  notInForce,
});

export const ConfigRolledBack = z.object({
  rolledBack: z.literal(true),
  sha: upTo(MAX.name),
  newCommitSha: upTo(MAX.name),
  restarting: z.literal(true),
});

/** What a write with `dryRun` would have done. */
export const ConfigChecked = z.object({
  dryRun: z.literal(true),
  valid: z.boolean(),
  errors: z.array(upTo(MAX.line)).max(MAX.many),
  diff: upTo(MAX.payload).optional().describe('what would change in the stored configuration, as config.diff shows it'),
  notInForce,
});

export const ConfigCollected = z.object({
  gc: z.literal(true),
  squashed: z.int().optional(),
  newRootSha: upTo(MAX.name).optional(),
  dryRun: z.literal(true).optional(),
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
  parent: upTo(MAX.name).optional().describe('the version before; the first one has none'),
  restores: upTo(MAX.name).optional().describe('the version that this one equals, of a rollback'),
  reason: upTo(MAX.line).optional().describe('why the version before was rolled back by itself'),
});

/** Which layer says what a key is, and where that layer is. */
export const ConfigOrigin = z.object({
  layer: z.enum(['default', 'preset', 'file', 'stored', 'environment']),
  from: upTo(MAX.path).optional().describe('the file, or the variable'),
});

export const ConfigOverview = z.object({
  config: JsonObject,
  sections: z.array(upTo(MAX.name)).max(MAX.many),
  origins: z.record(upTo(MAX.line), ConfigOrigin).check(mostKeys(MAX.all)).optional().describe('by dotted key, where it was asked for'),
});

export const ConfigSchemas = z.object({
  schema: JsonObject.describe('JSON Schema of the section, or of each section by name'),
  sections: z.array(upTo(MAX.name)).max(MAX.many),
  section: upTo(MAX.name).optional(),
});

const Written = patchOf(z.strictObject({ ...sections, ...CONFIG_WRITE_OPTIONS })).check(safeKeys());
/** Nothing at all would empty the stored layer, which nobody asks for by leaving everything out. */
const WholeConfiguration = Written.refine((written) => Object.keys(written).some((key) => !(key in CONFIG_WRITE_OPTIONS)), {
  error: 'at least one section; config.rollback goes back to an earlier version',
  params: { received: 'an empty object' },
});

const SHA = '9f2c1e7ab04d';

const configReads = defineMethods({
  'config.get': {
    summary: 'One section as it is, secrets included; without a section, the whole configuration with secrets redacted.',
    description: 'Meant for internal wiring. Each raw read is put on record.',
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
    summary: 'One section, or all of them, with secrets redacted.',
    description: '`sections` lists those that are objects. The keys beside them, such as logLevel, stand at the top of `config`.',
    scope: 'admin',
    params: z.strictObject({
      section: Section.optional(),
      origins: z
        .boolean()
        .optional()
        .describe('says of each key where its value comes from; the answer has `config` then, also of one section'),
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
    summary: 'The JSON Schema of one section, or of all.',
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
    summary: 'Replaces the stored configuration as a whole.',
    description: 'What cannot change at run time must be as it is. A key set by the environment is refused with the variable’s name.',
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
      'The params are the patch: sections by name, merged deeply, arrays replaced, beside them baseSha, message and dryRun. Model providers can be added here; their keys are only ever named.',
    scope: 'admin',
    audited: 'destructive',
    params: Written,
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
        key: z.string().min(1).max(512).describe('dots lead deeper'),
        value: z.unknown().describe('null takes back what was stored'),
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
    summary: 'Makes an earlier version the configuration again, as a new version.',
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
    summary: 'Folds old versions of the configuration into one.',
    description: 'The newest 50 stay. The oldest of them is whole, as every version is; what went before it is gone.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ dryRun: CONFIG_WRITE_OPTIONS.dryRun }),
    result: ConfigCollected,
    errors: ['PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: {}, result: { gc: true, squashed: 40, newRootSha: SHA } }],
  },
});

/** After the writes, because their examples speak of versions that there must be. */
const configVersions = defineMethods({
  'config.history': {
    summary: 'Lists the versions of the configuration, newest first.',
    scope: 'admin',
    params: z.strictObject({ limit: pageSize(10, 1000) }),
    result: z.object({
      entries: z.array(ConfigVersion).max(MAX.all),
      error: upTo(MAX.line).optional(),
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
    summary: 'What changed since a version, as a unified diff; without one, since the version before.',
    scope: 'admin',
    params: z.strictObject({ sha: Sha.optional() }),
    result: z.object({ diff: upTo(MAX.payload) }),
    blobs: ['diff'],
    idempotent: true,
    errors: ['NOT_FOUND', 'PERMISSION_DENIED'],
    examples: [{ params: { sha: SHA }, result: { diff: '--- a/gateway\n+++ b/gateway\n@@ -1 +1 @@\n-port: 4766\n+port: 4767\n' } }],
  },
});

export const configMethods = defineMethods({ ...configReads, ...configWrites, ...configVersions });
