import { z } from 'zod';
import { agents } from './agents.ts';
import { channels, messages } from './channels.ts';
import { daemon, diagnostics, memory, monitoring, observability, scheduler } from './daemon.ts';
import * as delivery from './delivery.ts';
import { config } from './control.ts';
import { browser, gateway, routing, webhooks } from './gateway.ts';
import { documentation, integrations, plugins } from './integrations.ts';
import { LogLevel, text } from './kinds.ts';
import { imageGen, media, tts } from './media.ts';
import { embedding, models, oauth, providers } from './models.ts';
import { createPatchSchema } from './patch.ts';
import { queue } from './queue.ts';
import { approvals, security } from './security.ts';

/** The keys that stand at the root beside the sections. */
export const topLevel = {
  tenantId: z.string().min(1).max(64).default('default').describe('tenant of the installation'),
  logLevel: LogLevel.default('info').describe('minimum severity that is logged'),
  dataDir: text().describe('data directory; SWITCHYARD_DATA takes precedence, empty selects .switchyard'),
  agentDir: text().describe('empty selects the data directory'),
};

/** Every section and root key of the configuration, by name. Each parses `undefined` to its defaults and refuses unknown keys. */
export const sections = {
  ...topLevel,
  config,
  agents,
  channels,
  memory,
  security,
  routing,
  daemon,
  scheduler,
  gateway,
  integrations,
  media,
  tts,
  imageGen,
  monitoring,
  observability,
  diagnostics,
  oauth,
  plugins,
  queue,
  streaming: delivery.streaming,
  autoReplyEngine: delivery.autoReplyEngine,
  sendPolicy: delivery.sendPolicy,
  embedding,
  envelope: delivery.envelope,
  browser,
  models,
  providers,
  messages,
  approvals,
  webhooks,
  lifecycleReactions: delivery.lifecycleReactions,
  responsePrefix: delivery.responsePrefix,
  deliveryQueue: delivery.deliveryQueue,
  deliveryMirror: delivery.deliveryMirror,
  deliveryTiming: delivery.deliveryTiming,
  coalescer: delivery.coalescer,
  senderTrustDisplay: delivery.senderTrustDisplay,
  documentation,
  telegramFileRefGuard: delivery.telegramFileRefGuard,
};

/** The whole configuration, with defaults filled in. */
export type Sections = { [N in keyof typeof sections]: z.output<(typeof sections)[N]> };
export type SectionName = keyof typeof sections;

export const SECTION_NAMES = Object.keys(sections) as SectionName[];

/** Sections as clients see them: objects only, without the scalar keys at the root. */
export const OBJECT_SECTIONS: readonly SectionName[] = SECTION_NAMES.filter((name) => !(name in topLevel));

/** The whole configuration as one schema: unknown sections are refused too. */
export const Configuration = z.strictObject(sections);

/** One layer of the configuration, a file or a stored version: any part of it, nothing filled in. */
export const ConfigurationPatch = createPatchSchema(Configuration);
export type ConfigurationPatch = z.output<typeof ConfigurationPatch>;
