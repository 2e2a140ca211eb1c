import { DNS_ADDRESS } from '../network.ts';
import { DNS_IMAGE } from '../images/system-images.ts';

const NAMESPACE = 'kube-system';
const NAME = 'coredns';
const LABELS = { 'k8s-app': 'kube-dns' };
const COREFILE = `.:53 {
  errors
  ready
  kubernetes cluster.local in-addr.arpa
  cache 5
}
`;
const METADATA = { name: NAME, namespace: NAMESPACE };

/** The objects of DNS. It is a pod with port 53, because policies see the port of the pod. */
export function dnsObjects(): object[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: METADATA },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: NAME },
      rules: [
        { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', ...METADATA }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: METADATA, data: { Corefile: COREFILE } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: METADATA,
      spec: { selector: { matchLabels: LABELS }, template: { metadata: { labels: LABELS }, spec: podSpec() } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: NAMESPACE, labels: LABELS },
      spec: {
        clusterIP: DNS_ADDRESS,
        selector: LABELS,
        ports: [
          { name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, targetPort: 'dns-tcp', protocol: 'TCP' },
        ],
      },
    },
  ];
}

function podSpec(): object {
  return {
    serviceAccountName: NAME,
    dnsPolicy: 'Default',
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: NAME,
        image: DNS_IMAGE,
        imagePullPolicy: 'IfNotPresent',
        args: ['-conf', '/etc/coredns/Corefile'],
        ports: [
          { name: 'dns', containerPort: 53, protocol: 'UDP' },
          { name: 'dns-tcp', containerPort: 53, protocol: 'TCP' },
        ],
        readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'configuration', mountPath: '/etc/coredns' }],
      },
    ],
    volumes: [{ name: 'configuration', configMap: { name: NAME } }],
  };
}
