/** Whether `make test` runs this file: tests on a cluster of their own are left to `make test-full`. */
export function isQuick(): boolean {
  return process.env['SWITCHYARD_TEST_SUITE'] === 'quick';
}
