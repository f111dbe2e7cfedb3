// An S3 server for tests, with objects in memory: the one that `rclone serve s3` has, which verifies signatures.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
)

func main() {
	address := flag.String("address", "", "address to listen on")
	bucket := flag.String("bucket", "", "name of the bucket")
	id := flag.String("access-key-id", "", "id of the only access key")
	secret := flag.String("secret-access-key", "", "secret access key")
	certificate := flag.String("certificate", "", "file of a certificate; empty for HTTP")
	key := flag.String("key", "", "file of its key")
	flag.Parse()

	backend := s3mem.New()
	if err := backend.CreateBucket(context.Background(), *bucket); err != nil {
		log.Fatal(err)
	}
	handler := gofakes3.New(backend, gofakes3.WithV4Auth(map[string]string{*id: *secret})).Server()
	if *certificate == "" {
		log.Fatal(http.ListenAndServe(*address, handler))
	}
	log.Fatal(http.ListenAndServeTLS(*address, *certificate, *key, handler))
}
