import { listBuiltServices } from '@switchyard/contracts';
import { z } from 'zod';

// The values of the charts. Their schemas and values.yaml are generated from these declarations. Every object refuses unknown keys.

const port = z.int().min(1).max(65_535);
const count = z.int().min(1);
const Resources = z
  .strictObject({
    requests: z.record(z.string(), z.union([z.string(), z.number()])),
    limits: z.record(z.string(), z.union([z.string(), z.number()])),
  })
  .partial();
/** Seconds that a process needs at most to drain and stop (`daemon.shutdownTimeoutMs`), and a margin. */
const MIN_GRACE_SECONDS = 40;
const grace = z.int().min(MIN_GRACE_SECONDS);
const requests = (memory: string): z.infer<typeof Resources> => ({ requests: { cpu: '100m', memory }, limits: { memory: '1Gi' } });

/** The values that all charts of one installation share. */
const Global = z.strictObject({
  installation: z
    .string()
    .regex(/^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$/)
    .default('switchyard')
    .describe('name of the installation and prefix of all objects, equal in all releases'),
  services: z
    .strictObject(Object.fromEntries(listBuiltServices().map((service) => [service, z.boolean().default(true)])))
    .prefault({})
    .describe('services of this installation, in this release or in another one'),
  image: z
    .strictObject({
      registry: z.string().default('').describe('host of the registry'),
      repository: z.string().default('switchyard').describe('the images are REPOSITORY/SERVICE'),
      tag: z.string().default('').describe('the version of the chart by default'),
      pullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent').describe('when a node pulls an image'),
      pullSecrets: z.array(z.string()).default([]).describe('names of Secrets'),
    })
    .prefault({}),
  bus: z
    .strictObject({
      url: z.string().default('').describe('address of an external NATS; the platform chart installs one by default'),
    })
    .prefault({}),
  store: z
    .strictObject({
      type: z.enum(['sqlite', 'mongodb']).default('sqlite').describe('sqlite allows one replica of each service'),
      existingSecret: z
        .string()
        .default('')
        .describe('for mongodb: a Secret with the key SERVICE-store-url for each service, and blobs-url'),
    })
    .prefault({}),
  cache: z
    .strictObject({
      existingSecret: z
        .string()
        .default('')
        .describe('a Secret with the key cache-url, the address of a Redis for rate limits of several gateways'),
    })
    .prefault({}),
  keys: z
    .strictObject({
      existing: z.boolean().default(false).describe('the Secrets INSTALLATION-keys-USER exist; otherwise they are generated once and kept'),
    })
    .prefault({}),
  settings: z.record(z.string(), z.unknown()).default({}).describe('configuration of all services, as in config.yaml'),
  podSecurity: z
    .strictObject({
      fsGroup: z.int().min(0).default(1000).describe('group of mounted files; 0 where the platform assigns one'),
      natsUser: z.int().min(0).default(1000).describe('user of NATS, whose image names none; 0 where the platform assigns one'),
    })
    .prefault({}),
  networkPolicy: z
    .strictObject({
      enabled: z.boolean().default(true).describe('denies all traffic but what the services need'),
      dnsNamespace: z.string().default('kube-system').describe('namespace of the DNS of the cluster'),
      monitoringNamespace: z.string().default('').describe('namespace that may read metrics'),
      databases: z
        .array(z.strictObject({ cidr: z.string(), port }))
        .default([])
        .describe('addresses of MongoDB, Redis and an external NATS'),
    })
    .prefault({}),
  monitoring: z
    .strictObject({
      enabled: z.boolean().default(false).describe('creates PodMonitors, alerts and the Grafana dashboard; needs the Prometheus operator'),
    })
    .prefault({}),
});

/** Helm passes these keys to every chart: values of the installation, of the library chart, and the condition of the umbrella. */
const passed = {
  global: Global.prefault({}),
  kit: z.record(z.string(), z.unknown()).optional(),
  enabled: z.boolean().optional(),
};

const Autoscaling = z.strictObject({
  enabled: z.boolean().default(false).describe('creates an autoscaler; needs MongoDB, except for the gateways'),
  minReplicas: count.default(2).describe('at least the present number of replicas when it is enabled'),
  maxReplicas: count.default(10).describe('at least minReplicas'),
  cpuPercent: z.int().min(1).max(100).default(70).describe('average load of a pod, of its requested CPU'),
});

const Service = z.strictObject({
  ...passed,
  replicas: count.default(1).describe('number of pods; not used while autoscaling is enabled'),
  autoscaling: Autoscaling.prefault({}),
  settings: z.record(z.string(), z.unknown()).default({}).describe('configuration of this service, over global.settings'),
  environment: z.record(z.string(), z.string()).default({}).describe('further environment variables; no secrets'),
  secretFiles: z
    .array(z.strictObject({ variable: z.string().regex(/^[A-Z][A-Z0-9_]*$/), secret: z.string(), key: z.string() }))
    .default([])
    .describe('secrets that are mounted as files and named by VARIABLE_FILE, such as OPENAI_API_KEY of the secrets service'),
  resources: Resources.default(requests('128Mi')).describe('of each pod'),
  terminationGracePeriodSeconds: grace.default(60).describe('longer than the drain and the shutdown of a process'),
});

const persistence = (size: string, use: string) =>
  z
    .strictObject({
      size: z.string().default(size).describe('of the volume'),
      storageClass: z.string().default('').describe('the default class of the cluster by default'),
    })
    .prefault({})
    .describe(use);

/** A service that stores documents. */
export const StoringService = Service.extend({ persistence: persistence('8Gi', 'volume of SQLite') });

/** A turn that waits for its model needs no CPU, so the number of waiting turns is a better measure. */
export const Sessions = StoringService.extend({
  autoscaling: Autoscaling.extend({
    waitingTurns: count
      .optional()
      .describe(
        'waiting turns per replica, beside the CPU; needs keda or an adapter that serves the external metric switchyard_turn_waiting',
      ),
    keda: z
      .strictObject({
        enabled: z.boolean().default(false).describe('creates a ScaledObject of KEDA instead of an autoscaler'),
        prometheus: z.string().default('').describe('address of the Prometheus that KEDA queries'),
      })
      .prefault({}),
  }).prefault({}),
});

/** Chromium isolates pages in user namespaces, which the default profile of a container runtime forbids. */
export const Browser = StoringService.extend({
  seccomp: z
    .strictObject({
      localhostProfile: z
        .string()
        .regex(/^([^/.][^/]*(\/[^/.][^/]*)*)?$/)
        .default('')
        .describe(
          'path of the profile of the ConfigMap INSTALLATION-browser-seccomp in the seccomp folder of every node, such as switchyard/chromium.json; without it Chromium does not start',
        ),
    })
    .prefault({}),
});

export const StatelessService = Service;

export const Gateway = Service.extend({
  publicUrl: z.string().default('').describe('address that clients use, such as https://agents.example.com'),
  clients: z
    .array(z.union([z.strictObject({ cidr: z.string() }), z.strictObject({ namespace: z.string() })]))
    .default([])
    .describe(
      'namespaces and addresses that may reach the gateways, beside pods with the label switchyard-client: INSTALLATION; behind an ingress or a route an empty list permits everybody',
    ),
  ingress: z
    .strictObject({
      enabled: z.boolean().default(false).describe('creates an Ingress'),
      className: z.string().default('').describe('class of the controller; the default class of the cluster by default'),
      host: z.string().default('').describe('host name that clients use; required'),
      tlsSecret: z.string().default('').describe('a Secret with a certificate; required'),
      annotations: z.record(z.string(), z.string()).default({}).describe('timeouts of the controller must exceed the longest stream'),
    })
    .prefault({}),
  route: z
    .strictObject({
      enabled: z.boolean().default(false).describe('creates an HTTPRoute of the Gateway API'),
      gateway: z.string().default('').describe('name of the Gateway, which ends TLS; required'),
      host: z.string().default('').describe('host name that clients use; required'),
    })
    .prefault({}),
});

export const Platform = z.strictObject({
  ...passed,
  nats: z
    .strictObject({
      image: z.string().default('nats:2.15.2-alpine').describe('NATS 2.15 or newer'),
      replicas: z
        .union([z.literal(1), z.literal(3), z.literal(5)])
        .default(1)
        .describe('number of servers'),
      streamCopies: z.int().min(1).max(5).default(1).describe('copies of each stream and bucket, at most one per server'),
      turnStreams: z.int().min(1).max(16).default(1).describe('number of streams for frames of turns'),
      priorityClass: z.string().default('').describe('a PriorityClass, so that NATS is evicted last'),
      terminationGracePeriodSeconds: z.int().min(50).default(60).describe('longer than the lame-duck period, 40 seconds'),
      persistence: persistence('24Gi', 'volume of each server'),
      resources: Resources.default(requests('128Mi')).describe('of each server'),
    })
    .prefault({}),
  provisioning: z
    .strictObject({ resources: Resources.default(requests('128Mi')).describe('of the pod that creates streams') })
    .prefault({}),
});

/** The umbrella: the values of the charts below it, which are checked by the schema of each chart. `enabled: false` leaves a chart out. */
export function umbrella(charts: readonly string[]): z.ZodType {
  const parts = charts.map((chart) => [chart, z.looseObject({ enabled: z.boolean().optional() }).prefault({})]);
  return z.strictObject({ global: Global.prefault({}), ...(Object.fromEntries(parts) as z.core.$ZodShape) });
}
