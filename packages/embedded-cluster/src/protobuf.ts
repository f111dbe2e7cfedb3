/**
 * Bodies in Kubernetes' protobuf encoding, which kubectl prefers for the kinds it knows: turned into the JSON that it would have sent
 * instead. Answers are always JSON, which those clients accept as well. The messages are those of `kubectl create` and `kubectl auth`;
 * left out of them is what an API server takes from no client: times, `managedFields`, `status`.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#kubernetes-protobuf-encoding
 * @see https://github.com/kubernetes/api generated.proto of each group
 */

import protobuf from 'protobufjs';
import { badRequest } from '../../../src/api/status.ts';
import type { JsonObject } from './objects.ts';

const { root } = protobuf.parse(
  `syntax = "proto2";
message TypeMeta { optional string apiVersion = 1; optional string kind = 2; }
message Unknown { optional TypeMeta typeMeta = 1; optional bytes raw = 2; }
message ObjectMeta {
  optional string name = 1; optional string generateName = 2; optional string namespace = 3; optional string uid = 5;
  optional string resourceVersion = 6; map<string, string> labels = 11; map<string, string> annotations = 12; repeated string finalizers = 14;
}
message ConfigMap {
  optional ObjectMeta metadata = 1; map<string, string> data = 2; map<string, bytes> binaryData = 3; optional bool immutable = 4;
}
message Secret {
  optional ObjectMeta metadata = 1; map<string, bytes> data = 2; optional string type = 3; map<string, string> stringData = 4;
  optional bool immutable = 5;
}
message Namespace { optional ObjectMeta metadata = 1; }
message ServiceAccount { optional ObjectMeta metadata = 1; optional bool automountServiceAccountToken = 4; }
message PolicyRule {
  repeated string verbs = 1; repeated string apiGroups = 2; repeated string resources = 3; repeated string resourceNames = 4;
  repeated string nonResourceURLs = 5;
}
message Requirement { optional string key = 1; optional string operator = 2; repeated string values = 3; }
message LabelSelector { map<string, string> matchLabels = 1; repeated Requirement matchExpressions = 2; }
message AggregationRule { repeated LabelSelector clusterRoleSelectors = 1; }
message Role { optional ObjectMeta metadata = 1; repeated PolicyRule rules = 2; }
message ClusterRole { optional ObjectMeta metadata = 1; repeated PolicyRule rules = 2; optional AggregationRule aggregationRule = 3; }
message Subject { optional string kind = 1; optional string apiGroup = 2; optional string name = 3; optional string namespace = 4; }
message RoleRef { optional string apiGroup = 1; optional string kind = 2; optional string name = 3; }
message RoleBinding { optional ObjectMeta metadata = 1; repeated Subject subjects = 2; optional RoleRef roleRef = 3; }
message ClusterRoleBinding { optional ObjectMeta metadata = 1; repeated Subject subjects = 2; optional RoleRef roleRef = 3; }
message ResourceAttributes {
  optional string namespace = 1; optional string verb = 2; optional string group = 3; optional string version = 4;
  optional string resource = 5; optional string subresource = 6; optional string name = 7;
}
message NonResourceAttributes { optional string path = 1; optional string verb = 2; }
message AccessSpec { optional ResourceAttributes resourceAttributes = 1; optional NonResourceAttributes nonResourceAttributes = 2; }
message SelfSubjectAccessReview { optional ObjectMeta metadata = 1; optional AccessSpec spec = 2; }
message RulesSpec { optional string namespace = 1; }
message SelfSubjectRulesReview { optional ObjectMeta metadata = 1; optional RulesSpec spec = 2; }
message SelfSubjectReview { optional ObjectMeta metadata = 1; }
message BoundReference { optional string kind = 1; optional string name = 3; }
message TokenSpec { repeated string audiences = 1; optional BoundReference boundObjectRef = 3; optional int64 expirationSeconds = 4; }
message TokenRequest { optional ObjectMeta metadata = 1; optional TokenSpec spec = 2; }`,
  { keepCase: true },
);

const core = ['ConfigMap', 'Namespace', 'Secret', 'ServiceAccount'];
const known: ReadonlySet<string> = new Set([
  ...core.map((kind) => `v1 ${kind}`),
  ...['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'].map((kind) => `rbac.authorization.k8s.io/v1 ${kind}`),
  ...['SelfSubjectAccessReview', 'SelfSubjectRulesReview'].map((kind) => `authorization.k8s.io/v1 ${kind}`),
  ...['SelfSubjectReview', 'TokenRequest'].map((kind) => `authentication.k8s.io/v1 ${kind}`),
]);
const magic = Buffer.from('k8s\0');

/** Undefined for a kind whose fields are not known here. @throws StatusError 400 */
export function decodeProtobuf(body: Buffer): JsonObject | undefined {
  if (!body.subarray(0, magic.length).equals(magic)) throw malformed();
  try {
    const { typeMeta, raw } = read('Unknown', body.subarray(magic.length));
    const { apiVersion, kind } = Object(typeMeta);
    if (!known.has(`${apiVersion} ${kind}`)) return undefined;
    return { apiVersion, kind, ...read(kind, Buffer.from(String(raw ?? ''), 'base64')) };
  } catch {
    // The library fails with plain errors: bytes that are missing, or no number.
    throw malformed();
  }
}

const malformed = () => badRequest('the body does not appear to be a protobuf message of Kubernetes');

function read(kind: string, bytes: Uint8Array): JsonObject {
  const type = root.lookupType(kind);
  return plain(type, type.toObject(type.decode(bytes), { bytes: String, longs: Number }));
}

/** Not told apart: a text or number that was left out, and one that is empty. In maps and lists it stays. */
const plain = (type: protobuf.Type, message: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(message).flatMap(([name, value]) => {
      const inner = type.fields[name]?.resolvedType;
      if (value === '' || value === 0) return [];
      if (!(inner instanceof protobuf.Type) || type.fields[name]?.map) return [[name, value]];
      return [[name, Array.isArray(value) ? value.map((one) => plain(inner, one)) : plain(inner, Object(value))]];
    }),
  );
