import type { ServicePresence } from '@switchyard/contracts';
import { DataTable } from '../../parts/DataTable.tsx';

const STATES: Readonly<Record<ServicePresence['state'], string>> = {
  up: 'up',
  down: 'does not answer',
  absent: 'not installed',
  unbuilt: 'not in this version',
};

/** The services of the installation and their replicas. */
export function Services({ services }: { services: readonly ServicePresence[] }) {
  return (
    <section aria-label="Services">
      <h2>Services</h2>
      <DataTable
        label="services"
        columns={['service', 'state', 'replicas', 'versions']}
        rows={services.map(({ service, state, replicas }) => ({
          service,
          state: STATES[state],
          replicas: replicas.length,
          versions: [...new Set(replicas.map(({ version }) => version))].join(', '),
        }))}
      />
    </section>
  );
}

/** Counts the services that answer, and names those that are installed and do not. */
export function describeServices(services: readonly ServicePresence[]): string {
  const down = services.filter(({ state }) => state === 'down').map(({ service }) => service);
  const up = services.filter(({ state }) => state === 'up').length;
  if (services.length === 0) return '';
  return down.length === 0 ? `${up} services answer.` : `${up} services answer; ${down.join(', ')} does not.`;
}
