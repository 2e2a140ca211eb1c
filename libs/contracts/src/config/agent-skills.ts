import { z } from 'zod';
import { between, flag, positive, ratio, texts, ToolProfile } from './kinds.ts';

const builtinTools = z
  .strictObject({
    read: flag(true),
    write: flag(true),
    edit: flag(true),
    notebookEdit: flag(true),
    grep: flag(true),
    find: flag(true),
    ls: flag(true),
    exec: flag(true),
    process: flag(true),
    webSearch: flag(true),
    webFetch: flag(true),
    browser: flag(false),
  })
  .prefault({})
  .describe('built-in tools the agent may have');

const promptSkills = z
  .strictObject({
    maxBodyLength: positive(20_000).describe('characters'),
    enableDynamicContext: flag(false),
    maxAutoInject: between(0, 20, 3).describe('skills that a model sees without `discover`'),
    allowedSkills: texts(),
    deniedSkills: texts(),
  })
  .prefault({});

export const skills = z
  .strictObject({
    discoveryPaths: texts(['./skills']),
    watchEnabled: flag(true),
    watchDebounceMs: between(100, 5_000, 400),
    builtinTools,
    toolPolicy: z.strictObject({ profile: ToolProfile.default('full'), allow: texts(), deny: texts() }).prefault({}),
    promptSkills,
    runtimeEligibility: z.strictObject({ enabled: flag(true) }).prefault({}),
    contentScanning: z.strictObject({ enabled: flag(true), blockOnCritical: flag(true) }).prefault({}),
    execSandbox: z.strictObject({ enabled: z.enum(['always', 'never']).default('always'), readOnlyAllowPaths: texts() }).prefault({}),
    toolDiscovery: z.strictObject({ minBm25Score: ratio(0.8), minHybridScore: ratio(0.35) }).prefault({}),
  })
  .prefault({})
  .describe('skills and tools');
