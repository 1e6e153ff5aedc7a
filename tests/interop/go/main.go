// Interop follows a stream of events served over 9P2000.
//
// It shows the loop a Go program needs for that: open the file event
// for reading and writing, write a filter to it, seek back to the start,
// and read. Each read waits until the server has events to give and returns
// them; the program prints them as they are and reads again, until COUNT
// reads have returned data.
//
// Usage:
//
//	interop unix:/path|tcp:127.0.0.1:PORT FILTER COUNT
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/client"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: interop ADDRESS FILTER COUNT")
		os.Exit(1)
	}
	count, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = follow(os.Args[1], os.Args[2], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func follow(address, filter string, count int) error {
	network, addr, _ := strings.Cut(address, ":")
	conn, err := client.Dial(network, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	fsys, err := conn.Attach(nil, os.Getenv("USER"), "")
	if err != nil {
		return err
	}
	event, err := fsys.Open("event", plan9.ORDWR)
	if err != nil {
		return err
	}
	if _, err := event.Write([]byte(filter)); err != nil {
		return err
	}
	if _, err := event.Seek(0, io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, 8192)
	for ; count > 0; count-- {
		n, err := event.Read(buf)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(buf[:n]); err != nil {
			return err
		}
	}
	return event.Close()
}
