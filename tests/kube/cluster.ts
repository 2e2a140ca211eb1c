import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '@switchyard/client';
import { addVolumes } from '../../scripts/kube/cluster/volumes.ts';
import { apply, kubectl, runInside } from '../../scripts/kube/kubectl.ts';
import { HELM, HELM_4, KUBECONFIG, readMode } from '../../scripts/kube/paths.ts';

export const CHARTS = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
/** A busy machine must not turn a slow start into a failed one. */
export const WAIT = ['--wait', '--timeout', '240s'];
/** One per claim of the umbrella: NATS and each service that stores documents. */
const VOLUMES_PER_INSTALLATION = 12;
const HTTP_PORT = 4766;

const mode = readMode();
/** Why tests that need a cluster are skipped. */
export const NO_CLUSTER = mode === undefined ? 'no cluster runs; start one with make kube' : false;
/** Why tests that need running containers are skipped. */
export const NO_PODS = mode === 'fake' ? 'nodes are fake, so no container runs' : NO_CLUSTER;

/** A version of Helm that the charts support. */
export interface HelmVersion {
  version: 3 | 4;
  program: string;
  /** Why tests with it are skipped. */
  skip: string | false;
}

export const HELM_VERSIONS: readonly HelmVersion[] = [
  { version: 3, program: HELM, skip: NO_CLUSTER },
  { version: 4, program: HELM_4, skip: NO_CLUSTER === false && !existsSync(HELM_4) ? 'Helm 4 could not be built' : NO_CLUSTER },
];

/** Leaves out services that a turn does not need. Permits the rate of `startLoad`, and has the agent of its streams. */
export const FEW_SERVICES = setValues({
  'global.settings': {
    gateway: { rateLimit: { maxRequests: 1_000_000 }, wsMessageRateLimit: { maxMessages: 1_000_000 } },
    agents: { default: {}, slow: { provider: 'dev', model: 'slow' } },
  },
  'global.services': { memory: false, scheduler: false, graph: false, browser: false, media: false, observability: false },
});

/** A namespace with the security level that the charts promise to satisfy. */
export interface Namespace extends AsyncDisposable {
  name: string;
  /** Runs Helm in the namespace and returns its output. Rejects with its message in `stderr`. */
  helm(...args: string[]): Promise<string>;
  /** The same with another version of Helm. */
  runHelm(program: string, args: readonly string[]): Promise<string>;
  kubectl(...args: string[]): Promise<string>;
  /** The same with objects as its input. */
  kubectlWith(objects: string, ...args: string[]): Promise<string>;
  apply(...objects: object[]): Promise<void>;
  /** Sends rendered objects to the API server without storing them. Rejects with its findings, and with warnings of the security level. */
  tryObjects(rendered: string): Promise<void>;
  /** Names and ids of the pods of a component that are not ending. */
  pods(component: string): Promise<{ name: string; uid: string }[]>;
  /** A client of the installed gateways with the operator's token. */
  access(): Promise<{ url: string; token: string }>;
  connect(): Promise<Client>;
}

interface PodList {
  items: { metadata: { name: string; uid: string; deletionTimestamp?: string } }[];
}

/** Creates a namespace with volumes for one installation. Disposing deletes it with everything inside. */
export async function createNamespace(name: string, helm: string = HELM): Promise<Namespace> {
  await kubectl(['create', 'namespace', name]);
  await kubectl(['label', 'namespace', name, ...['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`)]);
  await addVolumes(VOLUMES_PER_INSTALLATION);
  const inside = (...args: string[]): Promise<string> => kubectl(['--namespace', name, ...args]);
  const namespace: Namespace = {
    name,
    helm: (...args) => namespace.runHelm(helm, args),
    runHelm: (program, args) => runInside([program, '--kubeconfig', KUBECONFIG, '--namespace', name, ...args]),
    kubectl: inside,
    kubectlWith: (objects, ...args) => kubectl(['--namespace', name, ...args], objects),
    apply: (...objects) => apply(objects, name),
    async tryObjects(rendered) {
      await kubectl(['--namespace', name, '--warnings-as-errors', 'apply', '--dry-run=server', '--filename', '-'], rendered);
    },
    async pods(component) {
      const list = await inside('get', 'pods', '--selector', `app.kubernetes.io/component=${component}`, '--output', 'json');
      return (JSON.parse(list) as PodList).items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid }));
    },
    async access() {
      const address = await inside('get', 'service', 'switchyard-gateway', '--output', 'jsonpath={.spec.clusterIP}');
      const token = await inside('get', 'secret', 'switchyard-keys-secrets', '--output', 'jsonpath={.data.token}');
      return { url: `http://${address}:${HTTP_PORT}`, token: Buffer.from(token, 'base64').toString('utf8') };
    },
    connect: async () => createClient(await namespace.access()),
    async [Symbol.asyncDispose]() {
      await kubectl(['delete', 'namespace', name, '--wait=true', '--timeout=180s']);
    },
  };
  return namespace;
}

/** Writes values as arguments of Helm. */
export function setValues(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]);
}

/** A predicate for `assert.rejects`: the message of Helm or kubectl contains a text. */
export function says(text: string): (error: { stderr: string }) => boolean {
  return ({ stderr }) => {
    if (!stderr.includes(text)) throw new Error(`expected ${JSON.stringify(text)}, got ${stderr}`);
    return true;
  };
}
