/**
 * For tests only; `make check` refuses this import elsewhere. Requests to the given names reach listeners of the test on 127.0.0.1,
 * after the same checks as any other request.
 */
export { addMappedHosts as mapHosts, addTestPort as allowPort, type MappedHost } from './host-map.ts';
