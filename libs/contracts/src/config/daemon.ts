import { z } from 'zod';
import { cronLimits } from './agent-session.ts';
import { between, count, flag, LogLevel, percent, positive, ratio, SecretRef, text, texts, timezone, Positive } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const FileSize = (preset: string) =>
  z
    .string()
    .max(16)
    .regex(/^[0-9]+[kmg]?$/i)
    .default(preset)
    .describe('bytes; suffixes k, m and g are accepted');

/** The process itself: how it logs, watches itself and stops. */
export const daemon = z
  .strictObject({
    watchdogIntervalMs: count(30_000).describe('interval of systemd watchdog notifications; 0 disables them'),
    shutdownTimeoutMs: positive(30_000),
    metricsIntervalMs: positive(30_000),
    eventLoopDelayThresholdMs: z.number().positive().max(60_000).default(500),
    logLevels: z.record(boundedString(MAX.name), LogLevel).check(maxKeys(MAX.many)).default({}).describe('by logging module'),
    logging: z
      .strictObject({
        filePath: text('{dataDir}/logs/daemon.log'),
        maxSize: FileSize('10m'),
        maxFiles: between(0, 100, 5),
        compress: flag(false),
        tracing: z
          .strictObject({ outputDir: text('{dataDir}/traces'), maxSize: FileSize('5m'), maxFiles: between(0, 100, 3) })
          .prefault({}),
      })
      .prefault({})
      .describe('log file in one-process installations; separate processes write to standard error'),
    configWebhook: z
      .strictObject({ url: boundedString(MAX.url).optional(), timeoutMs: positive(5_000), secret: SecretRef.optional() })
      .prefault({})
      .describe('webhook that is called on every configuration change'),
  })
  .prefault({})
  .describe('logging, watchdog and shutdown of the process');

/** Scheduled work. */
export const scheduler = z
  .strictObject({
    cron: z.strictObject({ ...cronLimits, storeDir: text('./data/scheduler') }).prefault({}),
    heartbeat: z
      .strictObject({
        enabled: flag(true),
        intervalMs: count(300_000).describe('0 disables it'),
        showOk: flag(false),
        showAlerts: flag(true),
        alertThreshold: positive(2).describe('consecutive failures'),
        alertCooldownMs: positive(300_000),
        staleMs: positive(120_000),
      })
      .prefault({}),
    quietHours: z
      .strictObject({
        enabled: flag(false),
        start: text('22:00').describe('HH:MM'),
        end: text('07:00').describe('HH:MM'),
        timezone: timezone(),
        criticalBypass: flag(true),
      })
      .prefault({}),
    execution: z
      .strictObject({
        lockDir: text('./data/scheduler/locks'),
        staleMs: positive(600_000),
        updateMs: positive(30_000),
        logDir: text('./data/scheduler/logs'),
        maxLogBytes: positive(2_000_000),
        keepLines: positive(2_000),
      })
      .prefault({}),
    tasks: z
      .strictObject({ enabled: flag(false), confidenceThreshold: ratio(0.8), storeDir: text('./data/scheduler/tasks') })
      .prefault({})
      .describe('tasks extracted from conversations'),
  })
  .prefault({})
  .describe('scheduled jobs and heartbeats');

/** Memory of agents. */
export const memory = z
  .strictObject({
    dbPath: boundedString(MAX.path)
      .regex(/^(?!\/)(?!(.*\/)?\.{1,2}(\/|$))[\w./-]+$/, 'expected a path below the indexes, without .. in it')
      .default('memory.db')
      .describe('location of the memory index, below `index` in the data directory; rebuilt after a change'),
    walMode: flag(true).describe('write-ahead log for the index'),
    embeddingModel: text('text-embedding-3-small').describe('embedding model for memories; default: embedding.openai'),
    embeddingDimensions: positive(1_536).describe('vector dimensions for memories; default: embedding.openai'),
    compaction: z
      .strictObject({ enabled: flag(true), threshold: positive(1_000), targetSize: positive(500) })
      .prefault({})
      .describe('entries'),
    retention: z
      .strictObject({ maxAgeDays: count(0), maxEntries: count(0) })
      .prefault({})
      .describe('0 is unlimited'),
  })
  .prefault({})
  .describe('agent memory');

/** Monitoring of the machine. */
export const monitoring = z
  .strictObject({
    disk: z.strictObject({ enabled: flag(true), paths: texts(['/']), thresholdPercent: percent(90) }).prefault({}),
    resources: z.strictObject({ enabled: flag(true), cpuThresholdPercent: percent(85), memoryThresholdPercent: percent(90) }).prefault({}),
    systemd: z.strictObject({ enabled: flag(true), services: texts() }).prefault({}),
    securityUpdates: z.strictObject({ enabled: flag(true), securityOnly: flag(true) }).prefault({}),
    git: z.strictObject({ enabled: flag(false), repositories: texts(), checkRemote: flag(true) }).prefault({}),
  })
  .prefault({})
  .describe('monitoring of the machine');

/** Retention of observability data. */
export const observability = z
  .strictObject({
    persistence: z
      .strictObject({ enabled: flag(true), retentionDays: between(1, 365, 30), snapshotIntervalMs: between(60_000, 86_400_000, 300_000) })
      .prefault({}),
    logRotation: z
      .strictObject({
        maxSizeBytes: positive(52_428_800),
        maxFiles: count(5),
        maxAgeDays: positive(30),
        compressAged: flag(true),
      })
      .prefault({})
      .describe('retention of rotated log files, in addition to the limits of each file; the smaller limit applies'),
    alertBudget: z
      .strictObject({
        windowMs: positive(3_600_000),
        thresholds: z.record(boundedString(MAX.name), Positive).check(maxKeys(MAX.many)).default({}),
      })
      .prefault({})
      .describe('errors within the window that raise an alert, by kind'),
  })
  .prefault({})
  .describe('retention of logs and observations');

/** Files that tell how a turn went. */
export const diagnostics = z
  .strictObject({
    trajectory: z.strictObject({ enabled: flag(true) }).prefault({}),
    cacheTrace: z.strictObject({ enabled: flag(true) }).prefault({}),
    recallTrace: z.strictObject({ enabled: flag(false), maxFileBytes: positive(52_428_800) }).prefault({}),
  })
  .prefault({})
  .describe('trace files of turns');
