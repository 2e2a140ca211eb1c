import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeExposure } from './network-exposure.ts';

test('describeExposure names the exposed addresses, the risk and the remedy', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.7', 'gateway.internal']) {
    const message = describeExposure({ host, allowInsecureHttp: false }) ?? '';
    for (const part of [/without TLS/, /clear text/, /proxy/, /SWITCHYARD_HOST=127\.0\.0\.1/, /allowInsecureHttp: true/]) {
      assert.match(message, part, host);
    }
  }
  assert.match(describeExposure({ host: '10.0.0.7', allowInsecureHttp: false }) ?? '', /^the gateway listens on 10\.0\.0\.7 /);
});

test('describeExposure returns undefined for loopback, TLS and allowInsecureHttp', () => {
  for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '::1'])
    assert.equal(describeExposure({ host, allowInsecureHttp: false }), undefined);
  assert.equal(describeExposure({ host: '0.0.0.0', allowInsecureHttp: true }), undefined);
  const tls = { certPath: 'a', keyPath: 'b', caPath: 'c', requireClientCert: false };
  assert.equal(describeExposure({ host: '0.0.0.0', allowInsecureHttp: false, tls }), undefined);
});
