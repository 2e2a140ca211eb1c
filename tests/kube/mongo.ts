import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { startOwnMongo } from '@switchyard/testkit';
import { NODE_ADDRESS } from '../../scripts/kube/network.ts';
import type { Namespace } from './cluster.ts';

const PORT = 27_017;
const SECRET = 'databases';
/** Names of the keys in the Secret, as the charts expect them. */
const BLOBS = 'blobs-url';

/** A MongoDB on the node, outside of the cluster. */
export interface NodeMongo extends AsyncDisposable {
  /** Creates the Secret with an address per service. */
  createSecret(namespace: Namespace, services: readonly string[]): Promise<void>;
  /** Values that select it. */
  values: Readonly<Record<string, unknown>>;
}

/** Starts MongoDB or its stand-in. It listens on loopback, so connections of pods to the address of the node are forwarded. */
export async function startNodeMongo(): Promise<NodeMongo> {
  const mongo = await startOwnMongo();
  const forwarder = createServer((pod) => {
    const server = connect(mongo.port, '127.0.0.1');
    pod.pipe(server).pipe(pod);
    pod.on('error', () => server.destroy());
    server.on('error', () => pod.destroy());
  });
  forwarder.listen(PORT, NODE_ADDRESS);
  await once(forwarder, 'listening');
  const address = `mongodb://${NODE_ADDRESS}:${PORT}/?directConnection=true`;
  return {
    createSecret: (namespace, services) => {
      const stringData = Object.fromEntries([...services.map((name) => `${name}-store-url`), BLOBS].map((key) => [key, address]));
      return namespace.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET }, stringData });
    },
    values: {
      'global.store': { type: 'mongodb', existingSecret: SECRET },
      'global.networkPolicy.databases': [{ cidr: `${NODE_ADDRESS}/32`, port: PORT }],
    },
    async [Symbol.asyncDispose]() {
      forwarder.close();
      await mongo.stop();
    },
  };
}
