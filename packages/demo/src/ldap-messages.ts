/** Messages of a directory server (RFC 4511). */
import { Ber, BerReader, BerWriter, ProtocolOperation as Operation } from 'ldapts';

export interface LdapRequest {
  id: number;
  operation: number;
  reader: BerReader;
}

interface EntryAttributes {
  dn: string;
  attributes: Readonly<Record<string, readonly (string | Uint8Array)[]>>;
}

/** Returns the end of the first message; undefined while it is incomplete. @throws Error for an invalid message */
export function endOfMessage(bytes: Buffer): number | undefined {
  const reader = new BerReader(bytes);
  if (reader.readSequence(Ber.Sequence | Ber.Constructor) === null) return undefined;
  const end = reader.offset + reader.length;
  return end <= bytes.length ? end : undefined;
}

export function requestOf(message: Buffer): LdapRequest {
  const reader = new BerReader(message);
  reader.readSequence();
  const id = reader.readInt() ?? 0;
  const operation = reader.readSequence() ?? 0;
  return { id, operation, reader };
}

export function message(id: number, operation: number, write: (writer: BerWriter) => void): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(operation);
  write(writer);
  writer.endSequence();
  writer.endSequence();
  return writer.buffer;
}

export const done = (id: number, operation: number, code: number): Buffer =>
  message(id, operation, (writer) => {
    writer.writeEnumeration(code);
    writer.writeString('');
    writer.writeString('');
  });

export const entryMessage = (id: number, { dn, attributes }: EntryAttributes): Buffer =>
  message(id, Operation.LDAP_RES_SEARCH_ENTRY, (writer) => {
    writer.writeString(dn);
    writer.startSequence();
    for (const [name, values] of Object.entries(attributes)) {
      writer.startSequence();
      writer.writeString(name);
      writer.startSequence(Ber.Constructor | Ber.Set);
      for (const value of values) writer.writeBuffer(Buffer.from(value), Ber.OctetString);
      writer.endSequence();
      writer.endSequence();
    }
    writer.endSequence();
  });
