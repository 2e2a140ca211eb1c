import { z } from 'zod';
import { count, flag, port, positive, SecretRef, text, texts } from './kinds.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const mediaProcessing = z
  .strictObject({
    transcribeAudio: flag(true),
    analyzeImages: flag(true),
    describeVideos: flag(true),
    extractDocuments: flag(true),
    understandLinks: flag(true),
  })
  .prefault({})
  .describe('processing of attachments before the agent receives them');

const common = {
  enabled: flag(false),
  apiKey: SecretRef.optional(),
  botToken: SecretRef.optional(),
  webhookUrl: boundedString(MAX.url).optional(),
  allowFrom: texts().describe('allowed senders; empty allows all'),
  appToken: SecretRef.optional(),
  signingSecret: SecretRef.optional(),
  mode: z.enum(['socket', 'http']).optional(),
  authDir: boundedString(MAX.path).optional(),
  printQR: z.boolean().optional(),
  mediaProcessing,
};

const channel = () => z.strictObject(common).prefault({});

const email = {
  imapHost: boundedString(MAX.name).optional(),
  imapPort: port(993),
  smtpHost: boundedString(MAX.name).optional(),
  smtpPort: port(587),
  secure: flag(true),
  address: boundedString(MAX.line).optional(),
  authType: z.enum(['password', 'oauth2']).default('password'),
  clientId: SecretRef.optional(),
  clientSecret: SecretRef.optional(),
  refreshToken: SecretRef.optional(),
  allowMode: z.enum(['allowlist', 'open']).default('allowlist').describe('an empty allowlist rejects all senders'),
  pollingIntervalMs: positive(60_000),
};

const irc = {
  host: boundedString(MAX.name).optional(),
  port: z.int().min(1).max(65_535).optional(),
  nick: boundedString(MAX.name).optional(),
  tls: flag(true),
  channels: z.array(boundedString(MAX.name)).max(MAX.many).optional(),
  nickservPassword: SecretRef.optional(),
};

const healthCheck = z
  .strictObject({
    enabled: flag(true),
    pollIntervalMs: positive(60_000),
    staleThresholdMs: positive(1_800_000),
    idleThresholdMs: positive(600_000),
    errorThreshold: positive(3).describe('consecutive errors'),
    stuckThresholdMs: positive(1_500_000),
    startupGraceMs: positive(120_000),
    autoRestartOnStale: flag(false),
    maxRestartsPerHour: positive(10),
    restartCooldownMs: positive(600_000),
  })
  .prefault({});

/** The chat platforms, each off until it is turned on. */
export const channels = z
  .strictObject({
    telegram: channel(),
    discord: channel(),
    slack: channel(),
    whatsapp: channel(),
    signal: z
      .strictObject({
        ...common,
        baseUrl: text('http://127.0.0.1:8080'),
        account: boundedString(MAX.name).optional(),
        cliPath: boundedString(MAX.path).optional(),
      })
      .prefault({}),
    imessage: z
      .strictObject({ ...common, binaryPath: boundedString(MAX.path).optional(), account: boundedString(MAX.name).optional() })
      .prefault({}),
    line: z.strictObject({ ...common, channelSecret: SecretRef.optional(), webhookPath: text('/webhooks/line') }).prefault({}),
    irc: z.strictObject({ ...common, ...irc }).prefault({}),
    email: z.strictObject({ ...common, ...email }).prefault({}),
    healthCheck,
  })
  .prefault({})
  .describe('chat platforms');

/** How a text is cut and framed for a platform. */
export const messages = z
  .strictObject({
    maxOutboundLength: count(0).describe('characters; 0 is unlimited'),
    splitLongMessages: flag(true),
    splitMaxChars: positive(4_000),
    splitSeparator: text('\n\n'),
    showTypingIndicator: flag(true),
    systemMessagePrefix: text('[System] '),
    readReceipts: flag(false),
    maxSendsPerExecution: count(3).describe('0 is unlimited'),
  })
  .prefault({})
  .describe('splitting and formatting of texts');
