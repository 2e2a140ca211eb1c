import { join } from 'node:path';
import { readMessages, run } from '../helm.ts';
import { TESTS } from '../render.ts';
import { KUBERNETES_VERSIONS } from '../tools.ts';
import { writeRenderings } from '../renderings.ts';
import type { ChartCheck } from './context.ts';

const LOCATION = '{{.NormalizedKubernetesVersion}}-local{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json';
/** Kinds that Kubernetes does not have: PodMonitor, PrometheusRule, HTTPRoute, ScaledObject. */
const OWN_LOCATION = '{{.ResourceKind}}.json';

/** Strict schemas of the oldest and of the newest Kubernetes. One process per version reads each schema once. */
export const validateSchemas: ChartCheck = {
  name: 'schemas',
  findObstacle: ({ kubeconform, schemas }) => {
    if (kubeconform === undefined) return 'kubeconform';
    return schemas === undefined ? 'the schemas of Kubernetes' : undefined;
  },
  async run({ tools, rendered }) {
    const { kubeconform = '', schemas = '' } = tools;
    using files = writeRenderings(rendered);
    const failures: string[] = [];
    const locations = [join(schemas, LOCATION), join(TESTS, 'schemas', OWN_LOCATION)];
    for (const version of KUBERNETES_VERSIONS) {
      const args = ['-strict', '-kubernetes-version', version, ...locations.flatMap((location) => ['-schema-location', location])];
      try {
        await run(kubeconform, [...args, files.folder]);
      } catch (error) {
        failures.push(`Kubernetes ${version}: ${readMessages(error)}`);
      }
    }
    return failures;
  },
};
