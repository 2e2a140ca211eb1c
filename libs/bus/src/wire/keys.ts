const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;

/** Keys of a bucket are subjects on NATS; both adapters refuse the same ones. */
export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('not a bucket key: expected A-Z a-z 0-9 _ = - in parts joined by dots');
}
