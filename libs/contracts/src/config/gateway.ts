import { z } from 'zod';
import { AllowedAgents, NewTokenId, Scopes, SessionAccess } from '../values/common.ts';
import { address, between, count, flag, LongSecretRef, port, positive, text, texts, Positive } from './kinds.ts';
import { McpClient } from './mcp-client.ts';
import { SpendLimits } from './spend-limits.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { SERVICES } from '../definition/define.ts';

const GatewayToken = z
  .strictObject({
    id: NewTokenId,
    secret: LongSecretRef.optional(),
    scopes: Scopes.default([]),
    sessions: SessionAccess.default('tenant').describe('sessions that the token may read and write'),
    lenient: flag(false).describe('/v1 ignores unsupported fields'),
    mcpClient: McpClient.optional(),
    budgets: SpendLimits.optional(),
    agents: AllowedAgents.optional(),
    expiresAt: z.iso.datetime({ offset: true }).max(MAX.id).optional().describe('expiry time'),
  })
  .refine((token) => !token.scopes.includes('mcp-client') || token.scopes.length === 1, {
    path: ['scopes'],
    message: 'the scope mcp-client alone, without another',
  });

/** A longer window would keep out a client for as long, also the one who wants to shorten it. */
const rateWindow = (preset: number) => between(1, 3_600_000, preset);

const Tls = z.strictObject({
  certPath: z.string().min(1).max(MAX.path),
  keyPath: z.string().min(1).max(MAX.path),
  caPath: z.string().min(1).max(MAX.path),
  requireClientCert: flag(true),
});

/** Address of the gateway, authentication, and limits per client. */
export const gateway = z
  .strictObject({
    enabled: flag(true),
    host: boundedString(MAX.name)
      .regex(/^[A-Za-z0-9.:_-]+$/)
      .default('127.0.0.1')
      .describe('host name or address, never a URL'),
    port: z.int().min(0).max(65_535).default(4766).describe('0 selects a free port'),
    publicUrl: address().describe('address of the load balancer or proxy, published in the OpenRPC document'),
    tls: Tls.optional(),
    tokens: z.array(GatewayToken).max(MAX.many).default([]),
    rateLimit: z
      .strictObject({ windowMs: rateWindow(60_000), maxRequests: positive(100) })
      .prefault({})
      .describe('HTTP requests of one client; a batch counts as the calls in it'),
    web: z
      .strictObject({
        enabled: flag(true),
        path: z.string().min(1).max(MAX.path).optional().describe('directory of a custom dashboard; default: the bundled one'),
      })
      .prefault({})
      .describe('the dashboard and the routes under /api'),
    maxBatchSize: positive(50).describe('calls in one JSON-RPC batch'),
    installedServices: z
      .array(z.enum(SERVICES))
      .max(SERVICES.length)
      .default([])
      .describe('services of this installation; empty: all. A service that is not named is reported as not installed instead of down'),
    wsHeartbeatMs: count(30_000).describe('0 disables it'),
    corsOrigins: texts().describe('additional origins whose pages may use the gateway'),
    allowInsecureHttp: flag(false).describe('suppresses the warning about a public listener without TLS'),
    drainDelayMs: count(0).describe(
      'time that a stopping gateway keeps serving while /readyz is 503; at most a third of daemon.shutdownTimeoutMs',
    ),
    trustedProxies: texts().describe('addresses whose X-Forwarded-For is trusted'),
    httpBodyLimitBytes: between(4_096, 1_073_741_824, 1_048_576).describe('a lower limit would refuse the request that raises it'),
    wsMaxMessageBytes: between(1, 1_073_741_824, 1_048_576).describe('UTF-16 units of one message'),
    wsMessageRateLimit: z
      .strictObject({ maxMessages: positive(60), windowMs: rateWindow(60_000) })
      .prefault({})
      .describe('messages of one client over all its connections, sliding; a batch counts as the calls in it'),
    maxConnections: positive(12_000).describe('WebSockets of one replica'),
    maxConnectionsPerToken: positive(100).describe('WebSockets'),
    maxConnectionsPerAddress: positive(200).describe('WebSockets'),
    maxHttpConnections: positive(1_000).describe('other connections of one replica; idle ones are closed for new ones'),
    maxHttpConnectionsPerAddress: positive(256).describe('the same per address; a trusted proxy may use all'),
    maxHttpConnectionsPerToken: positive(512).describe('the same per client; connections of trusted proxies are not counted'),
    stallTimeoutMs: between(100, 600_000, 30_000).describe(
      'time after which a connection is closed whose client does not read what was sent to it',
    ),
    requestTimeoutMs: between(100, 600_000, 30_000).describe('time in which a request or a WebSocket message must arrive completely'),
    authFailures: z
      .strictObject({ windowMs: rateWindow(60_000), maxFailures: positive(10) })
      .prefault({})
      .describe('failed authentications of one address'),
  })
  .prefault({})
  .describe('gateway: listener, tokens, limits');

const WebhookMapping = z.strictObject({
  id: boundedString(MAX.id).optional(),
  match: z.strictObject({ path: boundedString(MAX.path).optional(), source: boundedString(MAX.name).optional() }).optional(),
  action: z.enum(['wake', 'agent']).default('agent'),
  wakeMode: z.enum(['now', 'next-heartbeat']).default('now'),
  name: boundedString(MAX.name).optional(),
  agentId: boundedString(MAX.id).optional(),
  sessionKey: boundedString(MAX.line).optional().describe('template'),
  messageTemplate: boundedString(MAX.text).optional(),
  textTemplate: boundedString(MAX.text).optional(),
  deliver: z.boolean().optional(),
  channel: boundedString(MAX.name).optional(),
  to: boundedString(MAX.line).optional(),
  model: boundedString(MAX.name).optional().describe('model of the turn, if the agent allows it'),
  timeoutSeconds: Positive.optional().describe('seconds from the start of the turn'),
  scheme: z
    .enum(['hmac', 'standard'])
    .default('hmac')
    .describe('signature scheme: webhooks.hmac, or the headers webhook-id, webhook-timestamp and webhook-signature'),
  headerPrefix: z
    .string()
    .max(51)
    .regex(/^[A-Za-z0-9-]{1,50}-$/)
    .default('webhook-')
    .describe('prefix of the headers of the scheme standard, such as svix-'),
  secret: LongSecretRef.optional().describe('key of this mapping; default: webhooks.token'),
});

const WebhookPreset = z.enum(['gmail', 'github']);

const hmac = z
  .strictObject({
    secret: LongSecretRef.optional().describe('key of the strict endpoint; default: webhooks.token'),
    headerName: text('x-webhook-signature'),
    algorithm: z.enum(['sha256', 'sha384', 'sha512']).default('sha256'),
    timestampHeaderName: text('x-webhook-timestamp'),
    maxAgeSec: positive(300),
    requireTimestamp: flag(false),
    signedTimestamp: flag(false).describe('the signature covers `timestamp.body`, which prevents replay'),
  })
  .prefault({})
  .describe('how a body is signed');

/** Routes for other systems: authentication of webhooks and their actions. */
export const webhooks = z
  .strictObject({
    enabled: flag(false),
    path: boundedString(MAX.path)
      .regex(/^(?!\/(?:api|app|media|mcp|rpc|v1|ws)(?:\/|$))(?:\/[A-Za-z0-9._~-]+)+\/?$/)
      .default('/hooks')
      .describe('path prefix; must not collide with other routes'),
    token: LongSecretRef.optional(),
    allowUnauthenticated: flag(false).describe('allows mappings without a key on public listeners'),
    maxBodyBytes: positive(262_144),
    presets: z.array(WebhookPreset).max(MAX.few).default([]).describe('predefined mappings'),
    mappings: z.array(WebhookMapping).max(MAX.many).default([]),
    hmac,
  })
  .prefault({})
  .describe('inbound webhooks');

/** Which agent answers whom. */
export const routing = z
  .strictObject({
    defaultAgentId: text('default'),
    bindings: z
      .array(
        z.strictObject({
          channelType: boundedString(MAX.name).optional(),
          channelId: boundedString(MAX.name).optional(),
          peerId: boundedString(MAX.name).optional(),
          guildId: boundedString(MAX.name).optional(),
          agentId: boundedString(MAX.id),
        }),
      )
      .max(MAX.many)
      .default([])
      .describe('agent of messages that name none: the most specific binding, else the default agent'),
  })
  .prefault({})
  .describe('routing of messages to agents');

/** A browser for agents. */
export const browser = z
  .strictObject({
    enabled: flag(false),
    chromePath: boundedString(MAX.path).optional(),
    cdpPort: port(9222),
    defaultProfile: text('default'),
    headless: flag(true),
    noSandbox: flag(false),
    screenshotMaxSide: positive(2_000).describe('pixels'),
    screenshotQuality: z.int().min(1).max(100).default(80),
    snapshotMaxChars: positive(120_000),
    timeoutMs: positive(30_000),
    baseCdpPort: port(18_800),
    maxProfiles: z.int().min(1).max(50).default(10),
    profilesDir: boundedString(MAX.path).optional(),
    downloadsDir: boundedString(MAX.path).optional(),
    downloadTimeoutMs: positive(120_000),
    evaluateEnabled: flag(false).describe('allows the action evaluate, which runs scripts in pages'),
    allowLoopbackNavigation: flag(false).describe('pages may reach loopback addresses'),
    viewport: z
      .strictObject({ width: positive(1_280), height: positive(720) })
      .prefault({})
      .describe('pixels'),
  })
  .prefault({})
  .describe('a browser for agents');
