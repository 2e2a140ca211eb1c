/** A host that a test serves. */
export interface MappedHost {
  /** The port on 127.0.0.1 where the test listens. */
  port: number;
  /** The DNS answer, asked once for each connection. It is checked like a real answer. The default is a public address. */
  addresses?: () => readonly string[];
}

/** A public address, so that mapped hosts pass the checks. No test connects to it. */
const PUBLIC_ADDRESS = '93.184.215.14';

const mapped = new Map<string, MappedHost>();

export function findMappedHost(hostname: string): MappedHost | undefined {
  return mapped.size === 0 ? undefined : mapped.get(hostname);
}

export function listMappedAddresses({ addresses }: MappedHost): readonly string[] {
  return addresses?.() ?? [PUBLIC_ADDRESS];
}

/** Maps hosts until the result is disposed. */
export function addMappedHosts(hosts: Readonly<Record<string, MappedHost>>): Disposable {
  for (const [name, host] of Object.entries(hosts)) mapped.set(name, host);
  return {
    [Symbol.dispose]() {
      for (const name of Object.keys(hosts)) mapped.delete(name);
    },
  };
}

const testPorts = new Set<number>();

export function isTestPort(port: number): boolean {
  return testPorts.has(port);
}

/** Lets requests reach a port of a test until the result is disposed. The checks of addresses still apply. */
export function addTestPort(port: number): Disposable {
  testPorts.add(port);
  return { [Symbol.dispose]: () => void testPorts.delete(port) };
}
