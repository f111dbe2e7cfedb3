interface NamedRight {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  name?: string;
  namespace?: string;
}

/** The wording of kube-apiserver, and of the service: `pods "web" is forbidden: User "jane" cannot get resource "pods" …`. */
const wording =
  /^\S+(?: "(?<name>[^"]*)")? is forbidden: User "[^"]*" cannot (?<verb>\w+) resource "(?<resource>[^"/]+)(?:\/(?<subresource>[^"]+))?" in API group "(?<group>[^"]*)" (?:in the namespace "(?<namespace>[^"]*)"|at the cluster scope)/;

/** Returns the missing right that a refusal names; undefined for another failure. */
export function refusedRight({ status, message }: { status: number; message: string }): NamedRight | undefined {
  const { verb, group, resource, ...rest } = (status === 403 && wording.exec(message)?.groups) || {};
  if (verb === undefined || group === undefined || resource === undefined) return undefined;
  return { verb, group, resource, ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value)) };
}
