#!/bin/sh
set -e
git init -q repository
cd repository
git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first
git --no-pager log --oneline
