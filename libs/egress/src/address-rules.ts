import ipaddr from 'ipaddr.js';

/** Addresses of metadata services. The IPv4 ones are recognised in every IPv6 form that embeds an IPv4 address. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  '169.254.169.254', // most clouds
  '169.254.170.2', // Amazon ECS
  '100.100.100.200', // Alibaba Cloud
  '168.63.129.16', // Azure; a public address
  '192.0.0.192', // Oracle Cloud
  'fd00:ec2::254', // Amazon EC2
  'fd20:ce::254', // Google Cloud
]);

/** The only IPv6 block with public addresses (RFC 4291, RFC 3513). */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** Explains why an IP address must not be reached by a request whose address came from outside. Undefined if it may be reached. */
export function explainBlockedAddress(address: string): string | undefined {
  const metadata = explainMetadataAddress(address);
  if (metadata !== undefined || !ipaddr.isValid(address)) return metadata;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  // ipaddr.js calls every IPv6 address unicast that no registry entry covers, such as the former site-local block fec0::/10.
  const isPublic = range === 'unicast' && (parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST));
  if (isPublic) return undefined;
  return `${address} is not a public address (${range === 'unicast' ? 'reserved' : range})`;
}

/** Explains why an IP address must not be reached even if the operator configured the URL. Undefined if it may be reached. */
export function explainMetadataAddress(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return `${address} is not an IP address`;
  const parsed = ipaddr.parse(address);
  const forms = parsed instanceof ipaddr.IPv4 ? [parsed.toString()] : listIpv6Forms(parsed);
  return forms.some((form) => METADATA_ADDRESSES.has(form)) ? `${address} is the address of a metadata service` : undefined;
}

/** Lists an IPv6 address and the IPv4 addresses that it may embed: mapped, compatible and NAT64 (last 32 bits), and 6to4. */
function listIpv6Forms(address: ipaddr.IPv6): string[] {
  const bytes = address.toByteArray();
  const isTranslated = address.range() === 'rfc6052' || bytes.slice(0, 10).every((byte) => byte === 0);
  const withoutZone = new ipaddr.IPv6(bytes).toString();
  return [
    withoutZone,
    ...(isTranslated ? [bytes.slice(12).join('.')] : []),
    ...(address.range() === '6to4' ? [bytes.slice(2, 6).join('.')] : []),
  ];
}
