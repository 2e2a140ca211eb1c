import { z } from 'zod';
import { between, count, flag, positive, text, texts, ToolProfile, Positive } from './kinds.ts';
import { MAX } from '../values/sizes.ts';

/** Bounds of a storage quota. */
const MIN_QUOTA_BYTES = 16_777_216;
const MAX_QUOTA_BYTES = 1_099_511_627_776;

const subagentContext = z
  .strictObject({
    maxSpawnDepth: between(1, 10, 3),
    maxChildrenPerAgent: between(1, 20, 5),
    maxResultTokens: between(100, 100_000, 4_000),
    resultRetentionMs: positive(86_400_000),
    condensationStrategy: z.enum(['auto', 'always', 'never']).default('auto'),
    includeParentHistory: z.enum(['none', 'summary']).default('none'),
    objectiveReinforcement: flag(true),
    artifactPassthrough: flag(true),
    autoCompactThreshold: z.number().min(0.5).max(1).default(0.95).describe('share of the context window'),
    errorPreservation: flag(true),
    narrativeCasting: flag(true),
    resultTagPrefix: z.string().max(100).default('Subagent Result'),
    parentSummaryMaxTokens: between(100, 10_000, 1_000),
    maxQueuedPerAgent: between(0, 50, 10),
    queueTimeoutMs: between(1_000, 600_000, 120_000),
    maxRunTimeoutMs: positive(600_000),
    perStepTimeoutMs: positive(60_000),
    graphStuckKillThresholdMs: count(600_000).describe('0 disables it'),
    stuckKillThresholdMs: count(180_000).describe('0 disables it'),
  })
  .prefault({});

const agentToAgent = z
  .strictObject({
    enabled: flag(true),
    maxPingPongTurns: between(0, 5, 3),
    allowAgents: texts().describe('empty allows all agents'),
    subAgentRetentionMs: positive(3_600_000),
    waitTimeoutMs: positive(60_000),
    subAgentMaxSteps: positive(50),
    subAgentToolGroups: z.array(ToolProfile).max(MAX.few).default(['coding']),
    subAgentMcpTools: z.enum(['inherit', 'none']).default('inherit'),
    subAgentSessionPersistence: flag(false),
    graphMaxConcurrency: Positive.optional(),
    graphMaxResultLength: Positive.optional().describe('characters'),
    graphMaxGlobalSubAgents: Positive.optional(),
    graphStartStaggerMs: z.int().nonnegative().max(60_000).default(0).describe('delay between the starts of two steps of a graph run'),
    subagentContext,
  })
  .prefault({});

/** Permissions of agents, and the audit log. */
export const security = z
  .strictObject({
    logRedaction: flag(true).describe('redacts values that look like secrets from the log; known secrets are always redacted'),
    auditLog: flag(true).describe('writes audit lines to the log and the file config-audit.jsonl; the audit log itself is always written'),
    permission: z.strictObject({ enableNodePermissions: flag(false), allowedFsPaths: texts(), allowedNetHosts: texts() }).prefault({}),
    egress: z
      .strictObject({
        allowHosts: texts().describe('a host, a host with a port, or `*.example.com`; their addresses and ports are not checked'),
      })
      .prefault({})
      .describe('requests to addresses that agents, pages and messages name'),
    actionConfirmation: z
      .strictObject({
        requireForDestructive: flag(true),
        requireForSensitive: flag(false),
        requireWhenTainted: flag(true).describe(
          'destructive calls of a turn that has read text from outside require the approval of a person, whatever lifts the gate otherwise',
        ),
        autoApprove: texts(),
      })
      .prefault({}),
    agentToAgent,
    secrets: z.strictObject({ enabled: flag(false), dbPath: text('secrets.db') }).prefault({}),
    input: z
      .strictObject({
        maxChars: between(1_000, MAX.text, 100_000).describe('characters of one message in a conversation'),
        blockInjection: flag(false).describe('rejects messages that look like injections instead of warning'),
      })
      .prefault({})
      .describe('screening of messages to agents'),
    storage: z
      .strictObject({
        maxClientBytes: between(MIN_QUOTA_BYTES, MAX_QUOTA_BYTES, 1_073_741_824),
        maxTenantBytes: between(MIN_QUOTA_BYTES, MAX_QUOTA_BYTES, 17_179_869_184),
      })
      .prefault({})
      .describe('quota of stored transcripts and responses; a character counts as one byte'),
  })
  .prefault({})
  .describe('permissions and security');

const ApprovalMode = z.enum(['auto', 'require', 'deny']);

const ApprovalRule = z.strictObject({
  actionPattern: z.string().min(1).max(MAX.line).describe('`*` matches anything'),
  mode: ApprovalMode.default('auto'),
  timeoutMs: count(300_000),
  minTrustLevel: z.enum(['untrusted', 'basic', 'verified', 'admin']).default('verified'),
});

/** Which actions a person must allow first. */
export const approvals = z
  .strictObject({
    enabled: flag(false),
    defaultMode: ApprovalMode.default('require').describe(
      'gated calls that no rule matches; auto lifts the gate of mutating tools, never of destructive ones',
    ),
    rules: z.array(ApprovalRule).max(MAX.many).default([]).describe('the first match applies'),
    defaultTimeoutMs: count(300_000),
    denialCacheTtlMs: count(60_000),
    batchApprovalTtlMs: count(30_000),
    approvers: texts().describe('senders who may answer with /approve and /deny'),
  })
  .prefault({})
  .describe('actions that require approval');
