/** Spellings of IPv4 addresses that URL parsers and resolvers accept: parts in hex and octal, fewer parts, one number, and full-width digits. */
function spellIpv4(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (part: number): string => `0x${part.toString(16)}`;
  const octal = (part: number): string => `0${part.toString(8)}`;
  return [
    address,
    `${address}.`,
    String(number),
    hex(number),
    `0X${number.toString(16).toUpperCase()}`,
    octal(number),
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(octal).join('.'),
    `${hex(a)}.${b}.${octal(c)}.${d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${hex(a)}.${hex((b * 256 + c) * 256 + d)}`,
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll('.', '%2e'),
    address.replaceAll('.', '\u3002'),
  ];
}

/** IPv6 forms that embed an IPv4 address: mapped, compatible, translated, NAT64 (both prefixes), 6to4. */
function embedIpv4(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const high = (a * 256 + b).toString(16);
  const low = (c * 256 + d).toString(16);
  return [
    `::ffff:${address}`,
    `::ffff:${high}:${low}`,
    `0:0:0:0:0:FFFF:${high.toUpperCase()}:${low.toUpperCase()}`,
    `::${address}`,
    `::ffff:0:${address}`,
    `64:ff9b::${address}`,
    `64:ff9b::${high}:${low}`,
    `64:ff9b:1::${address}`,
    `2002:${high}:${low}::1`,
  ];
}

/** One or more of each IPv4 category. */
const IPV4 = ['127.0.0.1', '0.0.0.0', '10.1.2.3', '169.254.169.254', '192.168.0.1', '172.16.0.1', '100.100.100.200'];

const OTHER_IPV4 = [
  '127.0.0.2',
  '127.255.255.254',
  '0.1.2.3',
  '10.0.0.0',
  '10.255.255.255',
  '172.31.255.255',
  '192.168.255.255',
  '169.254.0.1',
  '169.254.170.2',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.254',
  '255.255.255.255',
  '168.63.129.16',
];

const IPV6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '0000:0000:0000:0000:0000:0000:0000:0001',
  '::0.0.0.1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'feff::1',
  'fc00::1',
  'fd00::1',
  'fdff:ffff::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  'ff02::1',
  'ff0e::1',
  '100::1',
  '2001:db8::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:1ff::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
  '8000::1',
  'e000::1',
  '::2',
  '1::1',
];

/** Hosts of URLs that spell forbidden addresses. */
export const FORBIDDEN_HOSTS: readonly string[] = [
  ...IPV4.flatMap(spellIpv4),
  ...OTHER_IPV4,
  ...IPV4.flatMap(embedIpv4).map((address) => `[${address}]`),
  ...IPV6.map((address) => `[${address}]`),
];

/** The same addresses as a DNS answer has them. */
export const FORBIDDEN_ANSWERS: readonly string[] = [...IPV4, ...OTHER_IPV4, ...IPV4.flatMap(embedIpv4), ...IPV6];
