import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flags } from '../flags.ts';
import { KUBECONFIG, program, PROGRAMS, STATE } from '../paths.ts';
import { startProcess } from '../processes.ts';
import { buildGoProgram, runGo } from '../programs/go.ts';
import { apply, awaitSuccess } from '../kubectl.ts';

const KWOK = { name: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok', version: 'v0.8.0' };
const MODULE = 'sigs.k8s.io/kwok';
/** How fake nodes and pods become ready and end, as the module delivers it. */
const STAGES = ['node/fast', 'node/heartbeat-with-lease', 'pod/fast'];
const NODES = ['fake-1', 'fake-2', 'fake-3'];
const ANNOTATION = { 'kwok.x-k8s.io/node': 'fake' };

/** Adds nodes that run no process: their pods are reported as running and ready. Resolves when they are ready. */
export async function startFakeNodes(): Promise<void> {
  buildGoProgram(KWOK);
  const { Dir } = JSON.parse(runGo(['mod', 'download', '-json', `${MODULE}@${KWOK.version}`], PROGRAMS)) as { Dir: string };
  const stages = STAGES.flatMap((folder) => readStages(join(Dir, 'kustomize', 'stage', folder)));
  const config = join(STATE, 'kwok.yaml');
  writeFileSync(config, stages.join('\n---\n'));
  await apply(NODES.map((name) => createNode(name)));
  const options = flags({
    kubeconfig: KUBECONFIG,
    config,
    'server-address': '127.0.0.1:10247',
    'manage-nodes-with-annotation-selector': 'kwok.x-k8s.io/node=fake',
    'node-lease-duration-seconds': 40,
  });
  startProcess('kwok', [program('kwok'), ...options]);
  for (const name of NODES) await awaitSuccess(['wait', '--for=condition=Ready', `node/${name}`, '--timeout=5s'], 'kwok');
}

function createNode(name: string): object {
  const capacity = { cpu: '32', memory: '64Gi', pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, annotations: ANNOTATION, labels: { 'kubernetes.io/hostname': name, type: 'kwok' } },
    status: { allocatable: capacity, capacity },
  };
}

function readStages(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml') && !file.startsWith('kustomization'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
}
