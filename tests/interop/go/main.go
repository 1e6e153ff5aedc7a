// Interop follows a stream of events served over 9P2000.
//
// It shows the loop a Go program needs for that: open the file event
// for reading and writing, write a filter to it, seek back to the start,
// and read. Each read waits until the server has events to give and returns
// them; the program prints them as they are and reads again, until COUNT
// reads have returned data. With the word lines it leaves the reading to a
// bufio.Scanner, which fills its buffer by many reads, and prints COUNT lines.
//
// Usage:
//
//	interop unix:/path|tcp:127.0.0.1:PORT FILTER COUNT [lines]
package main

import (
	"bufio"
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
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: interop ADDRESS FILTER COUNT [lines]")
		os.Exit(1)
	}
	count, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = follow(os.Args[1], os.Args[2], count, len(os.Args) > 4)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func follow(address, filter string, count int, lines bool) error {
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
	if lines {
		scanner := bufio.NewScanner(event)
		for ; count > 0; count-- {
			if !scanner.Scan() {
				return errors.Join(io.ErrUnexpectedEOF, scanner.Err())
			}
			fmt.Println(scanner.Text())
		}
		return event.Close()
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
