import type { Namespace } from './cluster.ts';

const POLICY = 'helm.sh/resource-policy';
const VOLUME = 'persistentvolumeclaim/';

/** Keeps every object of a component when it leaves a release: step 1 of docs/guide/kubernetes/upgrade.md. */
export async function keepObjects(namespace: Namespace, release: string, component: string): Promise<void> {
  const manifest = await namespace.helm('get', 'manifest', release);
  const selector = `app.kubernetes.io/component=${component}`;
  await namespace.kubectlWith(manifest, 'annotate', '--filename', '-', '--overwrite', '--selector', selector, `${POLICY}=keep`);
}

/** Lets a release delete its objects again, except volumes: step 4. */
export async function stopKeepingObjects(namespace: Namespace, release: string): Promise<void> {
  const manifest = await namespace.helm('get', 'manifest', release);
  const names = (await namespace.kubectlWith(manifest, 'get', '--filename', '-', '--output', 'name')).trim().split('\n');
  for (const name of names.filter((one) => !one.startsWith(VOLUME))) await namespace.kubectl('annotate', name, `${POLICY}-`);
}
